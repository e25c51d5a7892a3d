// Converts arguments in the quoted notation of Gemma models, `{city:<escape>Rome<escape>,days:3}`, into JSON: names
// are unquoted, texts are between quote marks, and the rest is JSON.

/** Converts a text in the quoted notation to JSON; null if the text is not in this notation. */
export function quotedToJson(text: string, quote: string): string | null {
  const reader = new QuotedReader(text.trim(), quote);
  const json = reader.value();
  return json !== null && reader.isAtEnd ? json : null;
}

/** Writes a JSON value in the quoted notation. */
export function toQuotedNotation(value: unknown, quote: string): string {
  if (typeof value === "string") return quote + value + quote;
  if (Array.isArray(value)) return `[${value.map((item) => toQuotedNotation(item, quote)).join(",")}]`;
  if (typeof value !== "object" || value === null) return JSON.stringify(value);
  const members = Object.entries(value).map(([name, member]) => `${name}:${toQuotedNotation(member, quote)}`);
  return `{${members.join(",")}}`;
}

const scalar = /(?:true|false|null|-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?)(?=\s*(?:[,}\]]|$))/y;
const plainName = /[^:{}[\],"]+/y;
const depthMax = 64;

class QuotedReader {
  readonly #text: string;
  readonly #quote: string;
  #at = 0;

  constructor(text: string, quote: string) {
    this.#text = text;
    this.#quote = quote;
  }

  get isAtEnd(): boolean {
    return this.#at === this.#text.length;
  }

  value(depth = 0): string | null {
    if (depth > depthMax) return null;
    if (this.#takes("{")) return this.#items("}", () => this.#member(depth + 1), "{");
    if (this.#takes("[")) return this.#items("]", () => this.value(depth + 1), "[");
    return this.#string() ?? this.#match(scalar);
  }

  #member(depth: number): string | null {
    const name = this.#string() ?? this.#quoted(this.#match(plainName));
    if (name === null || !this.#takes(":")) return null;
    const value = this.value(depth);
    return value === null ? null : `${name}: ${value}`;
  }

  #items(close: string, read: () => string | null, open: string): string | null {
    if (this.#takes(close)) return open + close;
    const items: string[] = [];
    do {
      const item = read();
      if (item === null) return null;
      items.push(item);
    } while (this.#takes(","));
    return this.#takes(close) ? open + items.join(", ") + close : null;
  }

  /** Reads a text between quote marks, or a JSON string, and returns it as a JSON string. */
  #string(): string | null {
    if (!this.#takes(this.#quote)) return this.#match(/"(?:[^"\\]|\\.)*"/y);
    const end = this.#text.indexOf(this.#quote, this.#at);
    if (end < 0) return null;
    const text = this.#text.slice(this.#at, end);
    this.#at = end + this.#quote.length;
    return JSON.stringify(text);
  }

  #quoted(name: string | null): string | null {
    return name === null ? null : JSON.stringify(name.trim());
  }

  #match(pattern: RegExp): string | null {
    this.#skipBlanks();
    pattern.lastIndex = this.#at;
    const found = pattern.exec(this.#text)?.[0] ?? null;
    if (found !== null) this.#at += found.length;
    return found;
  }

  #takes(text: string): boolean {
    this.#skipBlanks();
    const isNext = this.#text.startsWith(text, this.#at);
    if (isNext) this.#at += text.length;
    return isNext;
  }

  #skipBlanks(): void {
    while (/\s/.test(this.#text.charAt(this.#at))) this.#at += 1;
  }
}

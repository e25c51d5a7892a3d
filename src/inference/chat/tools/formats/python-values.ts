// Converts Python's keyword arguments and values into JSON text: literals, strings in single or double quotes, lists,
// tuples and dicts. Numbers keep their digits, and valid JSON stays as written.
import { isBlank, type Cursor, type Reading } from "../../reply/cursor.ts";

const literals: ReadonlyMap<string, string> = new Map([
  ["True", "true"],
  ["False", "false"],
  ["None", "null"],
  ["true", "true"],
  ["false", "false"],
  ["null", "null"],
]);

const number = /-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?/y;
const word = /[A-Za-z_]\w*/y;
const keyword = /[^\s=,()"']+/y;
const depthMax = 64;

/** Returns a value as JSON text; null if the text is not a value, or continues after the value. */
export function pythonToJson(text: string): string | null {
  const reader = new PythonReader(text);
  const value = reader.value(0);
  return value !== null && reader.isAtEnd() ? value : null;
}

/**
 * Returns keyword arguments (`city="Rome", days=3`) as a JSON object; null if the text has none.
 *
 * @param text between the parentheses of a call
 */
export function keywordsToJson(text: string): string | null {
  return new PythonReader(text).keywords();
}

class PythonReader {
  readonly #text: string;
  #at = 0;

  constructor(text: string) {
    this.#text = text;
  }

  isAtEnd(): boolean {
    this.#blanks();
    return this.#at === this.#text.length;
  }

  keywords(): string | null {
    const members: string[] = [];
    while (!this.isAtEnd()) {
      const name = this.#name();
      if (name === null || this.#sign("=") === null) return null;
      const value = this.value(0);
      if (value === null) return null;
      members.push(`${JSON.stringify(name)}: ${value}`);
      if (this.#sign(",") === null && !this.isAtEnd()) return null;
    }
    return `{${members.join(", ")}}`;
  }

  /** Reads a value. Returns the blanks before it, followed by its JSON text; null if no value comes next. */
  value(depth: number): string | null {
    const blanks = this.#blanks();
    const next = this.#text.charAt(this.#at);
    if (depth > depthMax) return null;
    if (next === "{") return this.#after(blanks, this.#members("{", "}", depth));
    if (next === "[") return this.#after(blanks, this.#members("[", "]", depth));
    if (next === "(") return this.#after(blanks, this.#members("(", ")", depth));
    if (next === '"' || next === "'") return this.#after(blanks, this.#string(next));
    const value = this.#match(number) ?? literals.get(this.#match(word) ?? "");
    return value === undefined ? null : blanks + value;
  }

  #after(blanks: string, value: string | null): string | null {
    return value === null ? null : blanks + value;
  }

  /**
   * Reads the elements of a list, tuple or dict with their brackets, and returns them as JSON. Omits a trailing comma.
   */
  #members(open: string, close: string, depth: number): string | null {
    const isDict = open === "{";
    this.#at += 1;
    let written = "";
    let comma: string | null = "";
    for (let between = ""; comma !== null; between = ",") {
      const end = this.#sign(close);
      if (end !== null) return isDict ? `{${written}${end}}` : `[${written}${end}]`;
      const part = isDict ? this.#entry(depth + 1) : this.value(depth + 1);
      if (part === null) return null;
      written += comma + between + part;
      comma = this.#sign(",");
    }
    const end = this.#sign(close);
    if (end === null) return null;
    return isDict ? `{${written}${end}}` : `[${written}${end}]`;
  }

  #entry(depth: number): string | null {
    const blanks = this.#blanks();
    const quote = this.#text.charAt(this.#at);
    const key = quote === '"' || quote === "'" ? this.#string(quote) : null;
    const colon = key === null ? null : this.#sign(":");
    const value = colon === null ? null : this.value(depth);
    return value === null ? null : `${blanks}${key}${colon}:${value}`;
  }

  /**
   * Reads a string and returns it as JSON. Models imitate templates that do not escape quotes in strings. So a quote
   * ends the string only if {@link endsString} accepts the text after the quote.
   */
  #string(quote: string): string | null {
    let value = "";
    for (let at = this.#at + 1; at < this.#text.length; at++) {
      const character = this.#text[at];
      if (character === "\\") {
        const [length, meant] = escapeAt(this.#text, at);
        value += meant;
        at += length - 1;
      } else if (character === quote && endsString(this.#text, at + 1)) {
        const written = this.#text.slice(this.#at, at + 1);
        this.#at = at + 1;
        return quote === '"' && isJsonString(written) ? written : JSON.stringify(value);
      } else value += character;
    }
    return null;
  }

  #name(): string | null {
    this.#blanks();
    return this.#match(keyword);
  }

  #match(pattern: RegExp): string | null {
    pattern.lastIndex = this.#at;
    const [found] = pattern.exec(this.#text) ?? [null];
    this.#at += found?.length ?? 0;
    return found;
  }

  /** Reads a punctuation sign, and returns the blanks before it; null if another sign comes next. */
  #sign(sign: string): string | null {
    const start = this.#at;
    const blanks = this.#blanks();
    if (this.#text.charAt(this.#at) === sign) {
      this.#at += 1;
      return blanks;
    }
    this.#at = start;
    return null;
  }

  #blanks(): string {
    const start = this.#at;
    while (" \t\n\r".includes(this.#text.charAt(this.#at)) && this.#at < this.#text.length) this.#at += 1;
    return this.#text.slice(start, this.#at);
  }
}

/**
 * Matches text that may follow a string: the end of the text, a closing sign, a colon, or a comma with the next value
 * or keyword.
 */
const afterString =
  /\s*(?:$|[)\]}:]|,\s*(?:$|[)\]}"'[{(\d-]|(?:True|False|None|true|false|null)\b|[A-Za-z_][\w.-]*\s*=))/y;

/** True if the text after a quote shows that the quote ends a string. {@link readKeywordText} uses the same rule. */
function endsString(text: string, at: number): boolean {
  afterString.lastIndex = at;
  return afterString.test(text);
}

function isJsonString(written: string): boolean {
  try {
    return typeof JSON.parse(written) === "string";
  } catch {
    return false;
  }
}

const plainEscapes: Readonly<Record<string, string>> = {
  n: "\n",
  t: "\t",
  r: "\r",
  b: "\b",
  f: "\f",
  v: "\v",
  a: "\x07",
  "0": "\0",
  "\n": "",
  "\\": "\\",
  "'": "'",
  '"': '"',
  "/": "/",
};

/**
 * Returns the length and the meaning of an escape sequence. An unknown escape sequence stands for its two characters.
 */
function escapeAt(text: string, at: number): readonly [length: number, meant: string] {
  const kind = text.charAt(at + 1);
  const digits = { x: 2, u: 4, U: 8 }[kind];
  if (digits !== undefined) {
    const hex = text.slice(at + 2, at + 2 + digits);
    const point = hex.length === digits && /^[\da-fA-F]+$/.test(hex) ? Number.parseInt(hex, 16) : Infinity;
    if (point <= 0x10ffff) return [2 + digits, String.fromCodePoint(point)];
  }
  if (Object.hasOwn(plainEscapes, kind)) return [2, plainEscapes[kind]];
  return [1 + kind.length, `\\${kind}`];
}

/**
 * Reads keyword arguments and the closing parenthesis.
 *
 * @returns the text without the parenthesis; if no parenthesis closes the arguments, all of the text
 */
export function* readKeywordText(cursor: Cursor): Reading<string> {
  let text = "";
  let depth = 0;
  let quote = "";
  for (;;) {
    const character = yield* cursor.peek();
    if (character === "") return text;
    cursor.advance(1);
    if (quote !== "") {
      text += character;
      if (character === "\\") {
        text += yield* cursor.peek();
        cursor.advance(1);
      } else if (character === quote && (yield* stringEndsAt(cursor))) quote = "";
      continue;
    }
    if (character === ")" && depth === 0) return text;
    text += character;
    if (character === '"' || character === "'") quote = character;
    if ("([{".includes(character)) depth += 1;
    if (")]}".includes(character)) depth -= 1;
  }
}

function* stringEndsAt(cursor: Cursor): Reading<boolean> {
  cursor.keep();
  const isEnd = yield* seesAfterString(cursor);
  cursor.goBack();
  return isEnd;
}

function* seesAfterString(cursor: Cursor): Reading<boolean> {
  yield* cursor.skip(isBlank);
  const sign = yield* cursor.peek();
  if (sign !== ",") return sign === "" || ")]}:".includes(sign);
  cursor.advance(1);
  yield* cursor.skip(isBlank);
  const next = yield* cursor.peek();
  if (next === "" || /[)\]}"'[{(\d-]/.test(next)) return true;
  if (!/[A-Za-z_]/.test(next)) return false;
  const name = yield* cursor.skip((character) => /[\w.-]/.test(character));
  if (literals.has(name)) return true;
  yield* cursor.skip(isBlank);
  return (yield* cursor.peek()) === "=";
}

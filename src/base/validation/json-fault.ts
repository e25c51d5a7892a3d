// Finds the position at which a text stops being JSON. V8 reports this position only for some errors, so this module
// reads a text again if it could not be parsed.

/** Returns the index of the first character that JSON does not allow; the length of the text if it ends too early. */
export function jsonFaultIndex(text: string): number {
  const scanner = new Scanner(text);
  if (scanner.value()) scanner.blanks();
  return scanner.index;
}

class Scanner {
  index = 0;
  readonly #text: string;

  constructor(text: string) {
    this.#text = text;
  }

  /** Reads one value. Returns false if there is no valid value; the index is then that of the fault. */
  value(): boolean {
    this.blanks();
    switch (this.#text[this.index]) {
      case "{":
        return this.#list("}", () => this.#member());
      case "[":
        return this.#list("]", () => this.value());
      case '"':
        return this.#string();
      default:
        return this.#matches(/-?(0|[1-9]\d*)(\.\d+)?([eE][+-]?\d+)?|true|false|null/y);
    }
  }

  blanks(): void {
    this.#matches(/[ \t\n\r]*/y);
  }

  #list(end: string, item: () => boolean): boolean {
    this.index += 1;
    this.blanks();
    if (this.#take(end)) return true;
    do {
      if (!item()) return false;
      this.blanks();
      if (this.#take(end)) return true;
    } while (this.#take(","));
    return false;
  }

  #member(): boolean {
    this.blanks();
    if (!this.#string()) return false;
    this.blanks();
    return this.#take(":") && this.value();
  }

  #string(): boolean {
    if (!this.#take('"')) return false;
    // oxlint-disable-next-line no-control-regex -- JSON forbids them in texts
    while (this.#matches(/[^"\\\u0000-\u001f]+|\\(["\\/bfnrt]|u[0-9a-fA-F]{4})/y));
    return this.#take('"');
  }

  #take(character: string): boolean {
    if (this.#text[this.index] !== character) return false;
    this.index += 1;
    return true;
  }

  #matches(pattern: RegExp): boolean {
    pattern.lastIndex = this.index;
    const found = pattern.test(this.#text);
    if (found) this.index = pattern.lastIndex;
    return found;
  }
}

// Splits a template's source into tokens. Strips blanks and line ends around tags as Jinja does with `trim_blocks` and
// `lstrip_blocks`, which chat templates require.
import { TemplateFault } from "../fault.ts";
import { blank, isBlank, trailingBlanks } from "../values/characters.ts";
import type { Token } from "./tokens.ts";

/**
 * Splits a source into tokens.
 *
 * @throws TemplateFault with its line for an invalid template
 */
export function tokenize(source: string): readonly Token[] {
  const lexer = new Lexer(normalized(source));
  lexer.readAll();
  return lexer.tokens;
}

/** Converts all line ends to line feeds, and removes one line end at the end of the source. */
function normalized(source: string): string {
  return source.replaceAll(/\r\n?/g, "\n").replace(/\n$/, "");
}

/** Sticky patterns: each is tried at the current position. */
const patterns = {
  rawBegin: new RegExp(`\\{%([-+]?)[${blank}]*raw[${blank}]*(?:-%\\}[${blank}]*|%\\})`, "y"),
  blockEnd: new RegExp(`\\+%\\}|-%\\}[${blank}]*|%\\}\\n?`, "y"),
  printEnd: new RegExp(`-\\}\\}[${blank}]*|\\}\\}`, "y"),
  commentEnd: new RegExp(`\\+#\\}|-#\\}[${blank}]*|#\\}\\n?`, "y"),
  rawEnd: new RegExp(`\\{%([-+]?)[${blank}]*endraw[${blank}]*(?:\\+%\\}|-%\\}[${blank}]*|%\\}\\n?)`, "y"),
  blanks: new RegExp(`[${blank}]+`, "y"),
  float: /(?<!\.)\d+(?:_\d+)*(?:(?:\.\d+(?:_\d+)*)?e[+-]?\d+(?:_\d+)*|\.\d+(?:_\d+)*)/iy,
  integer: /0b(?:_?[01])+|0o(?:_?[0-7])+|0x(?:_?[\da-f])+|[1-9](?:_?\d)*|0(?:_?0)*/iy,
  name: /[\p{L}\p{N}\p{M}_]+/uy,
  operator: /\*\*|\/\/|[=!<>]=|[-+/*%~[\](){}<>=.:|,;]/y,
} as const;

const identifier = /^[\p{XID_Start}_][\p{XID_Continue}]*$/u;

const closing: Readonly<Record<string, string>> = { "(": ")", "[": "]", "{": "}" };

class Lexer {
  readonly tokens: Token[] = [];
  readonly #source: string;
  #place = 0;
  #line = 1;
  /** True if the preceding text ended a line. */
  #startsLine = true;

  constructor(source: string) {
    this.#source = source;
  }

  readAll(): void {
    const tagStart = /\{[{%#]/g;
    while (this.#place < this.#source.length) {
      tagStart.lastIndex = this.#place;
      const found = tagStart.exec(this.#source);
      if (found === null) this.#data(this.#source.slice(this.#place));
      else this.#tag(found.index, found[0]);
    }
    this.#add({ kind: "end" });
  }

  #tag(start: number, opening: string): void {
    const raw = opening === "{%" ? this.#match("rawBegin", start) : null;
    const sign = raw === null ? this.#signAt(start + 2) : (raw[1] ?? "");
    this.#data(this.#stripped(this.#source.slice(this.#place, start), sign, opening === "{{"), start);
    this.#consume(start + (raw?.[0].length ?? opening.length + sign.length));
    if (raw !== null) this.#raw();
    else if (opening === "{#") this.#comment();
    else if (opening === "{{") this.#inside("print-begin", "print-end");
    else this.#inside("block-begin", "block-end");
  }

  #signAt(place: number): string {
    const sign = this.#source[place];
    return sign === "-" || sign === "+" ? sign : "";
  }

  /** Strips blanks from the end of a text that precedes a tag, as the tag's sign requires. */
  #stripped(text: string, sign: string, isPrint: boolean): string {
    if (sign === "-") return text.slice(0, trailingBlanks(text));
    if (sign === "+" || isPrint) return text;
    const lineStart = text.lastIndexOf("\n") + 1;
    const isLineStart = lineStart > 0 || this.#startsLine;
    return isLineStart && isBlank(text.slice(lineStart)) ? text.slice(0, lineStart) : text;
  }

  /** @param end index where the source continues; by default the end of the text */
  #data(text: string, end = this.#place + text.length): void {
    if (text !== "") this.#add({ kind: "data", text });
    this.#consume(end);
  }

  #comment(): void {
    const ending = /[-+]?#\}/g;
    ending.lastIndex = this.#place;
    const found = ending.exec(this.#source);
    const end = found === null ? null : this.#match("commentEnd", found.index);
    if (found === null || end === null) throw new TemplateFault("Missing end of comment tag", this.#line);
    this.#consume(found.index + end[0].length);
  }

  #raw(): void {
    const line = this.#line;
    const opening = /\{%/g;
    opening.lastIndex = this.#place;
    for (let found = opening.exec(this.#source); found !== null; found = opening.exec(this.#source)) {
      const end = this.#match("rawEnd", found.index);
      if (end === null) continue;
      this.#data(
        this.#stripped(this.#source.slice(this.#place, found.index), end[1] ?? "", false),
        found.index,
      );
      return this.#consume(found.index + end[0].length);
    }
    throw new TemplateFault("Missing end of raw directive", line);
  }

  #inside(begin: "print-begin" | "block-begin", end: "print-end" | "block-end"): void {
    this.#add({ kind: begin });
    const endPattern = end === "print-end" ? "printEnd" : "blockEnd";
    const open: string[] = [];
    while (this.#place < this.#source.length) {
      const ended = open.length === 0 ? this.#match(endPattern, this.#place) : null;
      if (ended !== null) {
        this.#add({ kind: end });
        return this.#consume(this.#place + ended[0].length);
      }
      this.#token(open);
    }
  }

  #token(open: string[]): void {
    const place = this.#place;
    const blanks = this.#match("blanks", place);
    if (blanks !== null) return this.#consume(place + blanks[0].length);
    const number = this.#match("float", place) ?? this.#match("integer", place);
    if (number !== null) return this.#number(number[0]);
    const name = this.#match("name", place);
    if (name !== null) {
      if (!identifier.test(name[0])) throw new TemplateFault("Invalid character in identifier", this.#line);
      this.#add({ kind: "name", text: name[0].normalize("NFKC") });
      return this.#consume(place + name[0].length);
    }
    const character = this.#source[place];
    if (character === "'" || character === '"') return this.#string(character);
    const operator = this.#match("operator", place)?.[0];
    if (operator === undefined) throw new TemplateFault(`unexpected char '${character}'`, this.#line);
    this.#balance(operator, open);
    this.#add({ kind: "operator", text: operator });
    this.#consume(place + operator.length);
  }

  #number(text: string): void {
    const digits = text.replaceAll("_", "");
    const isFloat = !/^0[box]/i.test(digits) && /[.e]/i.test(digits);
    this.#add({ kind: "number", value: isFloat ? Number(digits) : BigInt(digits) });
    this.#consume(this.#place + text.length);
  }

  #string(quote: string): void {
    let end = this.#place + 1;
    while (end < this.#source.length && this.#source[end] !== quote)
      end += this.#source[end] === "\\" ? 2 : 1;
    if (end >= this.#source.length) throw new TemplateFault(`unexpected char '${quote}'`, this.#line);
    const text = unescapeText(this.#source.slice(this.#place + 1, end), this.#line);
    this.#add({ kind: "string", text });
    this.#consume(end + 1);
  }

  #balance(operator: string, open: string[]): void {
    if (operator in closing) open.push(closing[operator]);
    else if (operator === ")" || operator === "]" || operator === "}") {
      const expected = open.pop();
      if (expected === undefined) throw new TemplateFault(`unexpected '${operator}'`, this.#line);
      if (expected !== operator)
        throw new TemplateFault(`unexpected '${operator}', expected '${expected}'`, this.#line);
    }
  }

  #match(name: keyof typeof patterns, place: number): RegExpExecArray | null {
    const pattern = patterns[name];
    pattern.lastIndex = place;
    return pattern.exec(this.#source);
  }

  #add(token: TokenWithoutLine): void {
    this.tokens.push({ ...token, line: this.#line });
  }

  #consume(end: number): void {
    for (let place = this.#place; place < end; place++) if (this.#source[place] === "\n") this.#line += 1;
    this.#startsLine = end === 0 || this.#source[end - 1] === "\n";
    this.#place = end;
  }
}

type TokenWithoutLine = Token extends infer One ? (One extends Token ? Omit<One, "line"> : never) : never;

/** Characters that Python's escapes stand for, by the character after the backslash. */
const named: Readonly<Record<string, string>> = {
  "\n": "",
  "\\": "\\",
  "'": "'",
  '"': '"',
  a: "\u0007",
  b: "\b",
  f: "\f",
  n: "\n",
  r: "\r",
  t: "\t",
  v: "\v",
};

const escape = /\\(x[\da-fA-F]{2}|u[\da-fA-F]{4}|U[\da-fA-F]{8}|[0-7]{1,3}|[\s\S])/g;

/** @throws TemplateFault for a truncated escape, or one that stands for no character */
function unescapeText(text: string, line: number): string {
  if (!text.includes("\\")) return text;
  return text.replaceAll(escape, (whole, code: string) => {
    if (code in named) return named[code];
    if (/^[0-7]/.test(code)) return String.fromCodePoint(Number.parseInt(code, 8));
    if (/^[xuU]/.test(code)) {
      const point = Number.parseInt(code.slice(1), 16);
      if (code.length === 1 || point > 0x10ffff)
        throw new TemplateFault(`the escape ${whole} in a string is incomplete`, line);
      return String.fromCodePoint(point);
    }
    if (code === "N") throw new TemplateFault("named characters are not supported", line);
    return whole;
  });
}

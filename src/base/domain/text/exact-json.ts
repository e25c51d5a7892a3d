// JSON whose numbers keep their digits. It is used for JSON that a model reads as text: tool arguments, tool schemas,
// and constants and bounds of a schema. It is passed between threads, processes and stores as text, and parsed where
// it is used, because a structured clone would lose digits and classes; all other JSON is parsed with JSON.parse.
import type { Json } from "./json.ts";

/** A number whose text would change if it were parsed as a double, such as 12345678901234567890 or 1.0. */
export class ExactNumber {
  /** Text of the number in the JSON: optional minus, digits, optional fraction, optional exponent. */
  readonly text: string;

  constructor(text: string) {
    this.text = text;
  }

  valueOf(): number {
    return Number(this.text);
  }
}

/**
 * JSON in which numbers are doubles, except that a number is an {@link ExactNumber} if `String(Number(text))` differs
 * from its text.
 */
export type ExactJson =
  | null
  | boolean
  | number
  | string
  | ExactNumber
  | readonly ExactJson[]
  | ExactJsonObject;
export type ExactJsonObject = { readonly [key: string]: ExactJson };

/** Parses like JSON.parse, but keeps the digits of numbers. @throws SyntaxError as JSON.parse does */
export function parseExactJson(text: string): ExactJson {
  // Safe cast: JSON.parse returns plain JSON without exact numbers.
  return withExactNumbers(text, JSON.parse(text) as Json);
}

/**
 * Restores the digits of `text` in `value`, which JSON.parse made from it. Returns `value` itself if no digits were
 * lost.
 */
export function withExactNumbers(text: string, value: Json): ExactJson {
  return hasInexactNumbers(text) ? readExactly(text) : value;
}

/** Writes a value without whitespace; every number keeps its digits. Not recursive, so nesting is unlimited. */
export function exactJsonText(value: ExactJson): string {
  let text = "";
  const waiting: Piece[] = [{ sign: "", value }];
  for (let piece = waiting.pop(); piece !== undefined; piece = waiting.pop()) {
    text += piece.sign;
    if (piece.value !== undefined) text += openingText(piece.value, waiting);
  }
  return text;
}

/** Next piece of the text: punctuation, followed by a value. */
interface Piece {
  readonly sign: string;
  readonly value?: ExactJson;
}

/**
 * Returns the text of a value that is a text, number, boolean or null. For a list or object, returns the opening
 * bracket, and pushes the content to `waiting` in reverse order.
 */
function openingText(value: ExactJson, waiting: Piece[]): string {
  if (value instanceof ExactNumber) return value.text;
  if (!isExactList(value) && !isExactObject(value)) return JSON.stringify(value);
  const [open, close] = isExactList(value) ? "[]" : "{}";
  const inside = isExactList(value)
    ? value.map((item, index): Piece => ({ sign: index === 0 ? "" : ",", value: item }))
    : Object.entries(value).map(([key, member], index): Piece => {
        const name = `${JSON.stringify(key)}:`;
        return { sign: index === 0 ? name : `,${name}`, value: member };
      });
  waiting.push({ sign: close });
  for (let index = inside.length - 1; index >= 0; index--) waiting.push(inside[index]);
  return open;
}

/** Converts exact numbers to doubles, for calculations. */
export function plainJson(value: ExactJson): Json {
  if (value instanceof ExactNumber) return Number(value.text);
  if (isExactList(value)) return value.map(plainJson);
  if (typeof value !== "object" || value === null) return value;
  const plain: Record<string, Json> = {};
  for (const [key, member] of Object.entries(value)) setMember(plain, key, plainJson(member));
  return plain;
}

export function isExactList(value: ExactJson): value is readonly ExactJson[] {
  return Array.isArray(value);
}

/** True for an object: neither a list nor an {@link ExactNumber}. */
export function isExactObject(value: ExactJson): value is ExactJsonObject {
  return (
    typeof value === "object" && value !== null && !isExactList(value) && !(value instanceof ExactNumber)
  );
}

/**
 * Matches every text with a number that would lose digits. It also matches some texts without such a number, which
 * costs time but gives the same result.
 */
const perhapsInexact = /\d[.eE]|\d{16}|-0/;

function hasInexactNumbers(text: string): boolean {
  if (!perhapsInexact.test(text)) return false;
  for (const word of jsonWords(text)) {
    if (/[-\d]/.test(word[0]) && String(Number(word)) !== word) return true;
  }
  return false;
}

/**
 * Yields the tokens of a JSON text, without whitespace, commas and colons. The end of each string is searched with
 * code, because a regular expression for strings overflows the stack.
 */
export function* jsonWords(text: string): Generator<string, void> {
  const start = /["[\]{}]|-?\d[\d.eE+-]*|true|false|null/g;
  for (let found = start.exec(text); found !== null; found = start.exec(text)) {
    if (found[0] === '"') start.lastIndex = endOfText(text, found.index);
    yield found[0] === '"' ? text.slice(found.index, start.lastIndex) : found[0];
  }
}

/** Returns the index after the closing quote of the string that starts at `start`. */
function endOfText(text: string, start: number): number {
  let end = text.indexOf('"', start + 1);
  while (isEscaped(text, end)) end = text.indexOf('"', end + 1);
  return end + 1;
}

function isEscaped(text: string, index: number): boolean {
  let backslashes = 0;
  while (text[index - backslashes - 1] === "\\") backslashes += 1;
  return backslashes % 2 === 1;
}

/** A list or object that is being parsed; `key` is the name of the next member. */
type Open =
  | { readonly items: ExactJson[] }
  | { readonly members: Record<string, ExactJson>; key: string | null };

/** Parses a text that is known to be JSON. Not recursive, so nesting is unlimited. */
function readExactly(text: string): ExactJson {
  const root: Open = { items: [] };
  const open: Open[] = [root];
  for (const word of jsonWords(text)) {
    const innermost = open[open.length - 1];
    if (word === "]" || word === "}") open.pop();
    else if (word === "[") {
      const items: ExactJson[] = [];
      add(innermost, items);
      open.push({ items });
    } else if (word === "{") {
      const members: Record<string, ExactJson> = {};
      add(innermost, members);
      open.push({ members, key: null });
    } else if ("members" in innermost && innermost.key === null) innermost.key = String(JSON.parse(word));
    else add(innermost, scalar(word));
  }
  return root.items[0];
}

function add(to: Open, value: ExactJson): void {
  if ("items" in to) to.items.push(value);
  else {
    setMember(to.members, to.key ?? "", value);
    to.key = null;
  }
}

function scalar(word: string): ExactJson {
  const value = JSON.parse(word) as null | boolean | number | string;
  return typeof value === "number" && String(value) !== word ? new ExactNumber(word) : value;
}

/** Sets a member as JSON.parse does: `__proto__` is an ordinary name. */
function setMember<Value>(object: Record<string, Value>, key: string, value: Value): void {
  if (key === "__proto__")
    Object.defineProperty(object, key, { value, writable: true, enumerable: true, configurable: true });
  else object[key] = value;
}

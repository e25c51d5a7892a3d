// Parses and writes JSON without losing digits of numbers. Used where a model reads the JSON as text: tool arguments,
// tool schemas, and constants and bounds of a schema. Threads, processes and stores exchange such JSON as text, because
// a structured clone would lose the digits.
import type { Json } from "./json.ts";

/** A number whose text would change if it were converted to a double and back, such as 12345678901234567890 or 1.0. */
export class ExactNumber {
  /** Text of the number as in the JSON: an optional minus, digits, an optional fraction, an optional exponent. */
  readonly text: string;

  constructor(text: string) {
    this.text = text;
  }

  valueOf(): number {
    return Number(this.text);
  }
}

/**
 * JSON in which numbers are doubles. A number is an {@link ExactNumber} instead if `String(Number(text))` differs from
 * its text.
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

/**
 * Parses a text like JSON.parse, but keeps the digits of numbers.
 *
 * @throws SyntaxError as JSON.parse does
 */
export function parseExactJson(text: string): ExactJson {
  // Safe cast: JSON.parse returns plain JSON, which has no exact numbers.
  return withExactNumbers(text, JSON.parse(text) as Json);
}

/**
 * Restores the digits of numbers that JSON.parse lost when it made `value` from `text`. Returns `value` itself if no
 * digits were lost.
 */
export function withExactNumbers(text: string, value: Json): ExactJson {
  return hasInexactNumbers(text) ? readExactly(text) : value;
}

/**
 * Writes a value as JSON without whitespace. Every number keeps its digits. The code is not recursive, so that any
 * nesting is possible.
 */
export function exactJsonText(value: ExactJson): string {
  let text = "";
  const waiting: Piece[] = [{ sign: "", value }];
  for (let piece = waiting.pop(); piece !== undefined; piece = waiting.pop()) {
    text += piece.sign;
    if (piece.value !== undefined) text += openingText(piece.value, waiting);
  }
  return text;
}

/** A piece of JSON text that is still to be written: punctuation, and a value after it. */
interface Piece {
  readonly sign: string;
  readonly value?: ExactJson;
}

/**
 * Returns the JSON of a string, number, boolean or null. For a list or object, returns the opening bracket, and adds
 * the content to `waiting` in reverse order.
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

/** Converts exact numbers to doubles, with which code can calculate. */
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

/** True for an object, but not for a list or an {@link ExactNumber}. */
export function isExactObject(value: ExactJson): value is ExactJsonObject {
  return (
    typeof value === "object" && value !== null && !isExactList(value) && !(value instanceof ExactNumber)
  );
}

/**
 * Matches every text with a number that would lose digits. It also matches some other texts, which costs time but does
 * no harm.
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
 * Yields the tokens of a JSON text, without whitespace, commas and colons. The end of each string is found without a
 * regular expression, because one that matches long strings overflows the stack.
 */
export function* jsonWords(text: string): Generator<string, void> {
  const start = /["[\]{}]|-?\d[\d.eE+-]*|true|false|null/g;
  for (let found = start.exec(text); found !== null; found = start.exec(text)) {
    if (found[0] === '"') start.lastIndex = endOfText(text, found.index);
    yield found[0] === '"' ? text.slice(found.index, start.lastIndex) : found[0];
  }
}

/** Returns the index after the closing quote of the string that begins at `start`. */
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

/** A list or object that is being parsed. `key` is the name of the member whose value comes next. */
type Open =
  | { readonly items: ExactJson[] }
  | { readonly members: Record<string, ExactJson>; key: string | null };

/** Parses a text that is known to be JSON. The code is not recursive, so that any nesting is possible. */
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

/** Sets a member of an object as JSON.parse does, for which `__proto__` is an ordinary name. */
function setMember<Value>(object: Record<string, Value>, key: string, value: Value): void {
  if (key === "__proto__")
    Object.defineProperty(object, key, { value, writable: true, enumerable: true, configurable: true });
  else object[key] = value;
}

// JSON whose numbers keep their digits, for JSON that is text to a model: tool arguments, tool schemas, constants and
// bounds of a schema. Such JSON travels between threads, processes and stores as a text, since a clone keeps neither
// digits nor classes, and is parsed here where it is used. Elsewhere a number is a double, and JSON.parse is right.
import type { Json } from "./json.ts";

/** A number that a double would not write as it was written, such as 12345678901234567890 or 1.0. */
export class ExactNumber {
  /** As in the JSON: an optional minus, digits, an optional fraction, an optional exponent. */
  readonly text: string;

  constructor(text: string) {
    this.text = text;
  }

  valueOf(): number {
    return Number(this.text);
  }
}

/** JSON in which a number is an {@link ExactNumber} where `String(Number(text))` would not be its text. */
export type ExactJson =
  | null
  | boolean
  | number
  | string
  | ExactNumber
  | readonly ExactJson[]
  | ExactJsonObject;
export type ExactJsonObject = { readonly [key: string]: ExactJson };

/** Parses as JSON.parse does, but for the digits of numbers; throws SyntaxError as it does. */
export function parseExactJson(text: string): ExactJson {
  // What JSON.parse gives is Json, and has no exact numbers.
  return withExactNumbers(text, JSON.parse(text) as Json);
}

/** The same with the digits of `text`, of which JSON.parse has made `value`; the value itself where no digits are lost. */
export function withExactNumbers(text: string, value: Json): ExactJson {
  return hasInexactNumbers(text) ? readExactly(text) : value;
}

/** The text of a value, without blanks, every number in its own digits; nothing recurses, however deep it is nested. */
export function exactJsonText(value: ExactJson): string {
  let text = "";
  const waiting: Piece[] = [{ sign: "", value }];
  for (let piece = waiting.pop(); piece !== undefined; piece = waiting.pop()) {
    text += piece.sign;
    if (piece.value !== undefined) text += openingText(piece.value, waiting);
  }
  return text;
}

/** What comes next in a text: a sign, and behind it a value. */
interface Piece {
  readonly sign: string;
  readonly value?: ExactJson;
}

/** A scalar's text, or what a list or an object begins with; then what is in it waits, the first last. */
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

/** The same with doubles, where numbers are only computed with. */
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

/** True of what has members: neither a list, nor a number that keeps its digits. */
export function isExactObject(value: ExactJson): value is ExactJsonObject {
  return (
    typeof value === "object" && value !== null && !isExactList(value) && !(value instanceof ExactNumber)
  );
}

/** What a number that loses digits has at least; found in most texts that have none, which are then read word by word. */
const perhapsInexact = /\d[.eE]|\d{16}|-0/;

function hasInexactNumbers(text: string): boolean {
  if (!perhapsInexact.test(text)) return false;
  for (const word of jsonWords(text)) {
    if (/[-\d]/.test(word[0]) && String(Number(word)) !== word) return true;
  }
  return false;
}

/**
 * The tokens of a text that is JSON, without blanks, commas and colons. A string is found by its end, since a pattern that
 * repeats runs out of stack.
 */
export function* jsonWords(text: string): Generator<string, void> {
  const start = /["[\]{}]|-?\d[\d.eE+-]*|true|false|null/g;
  for (let found = start.exec(text); found !== null; found = start.exec(text)) {
    if (found[0] === '"') start.lastIndex = endOfText(text, found.index);
    yield found[0] === '"' ? text.slice(found.index, start.lastIndex) : found[0];
  }
}

/** The index behind the quotation mark that ends the text whose first stands at `start`. */
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

/** An open list or object; `key` is the name whose value comes next. */
type Open =
  | { readonly items: ExactJson[] }
  | { readonly members: Record<string, ExactJson>; key: string | null };

/** Reads a text that is known to be JSON; nothing recurses, however deep it is nested. */
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

/** As JSON.parse sets it: a member of the name `__proto__` is one as any other. */
function setMember<Value>(object: Record<string, Value>, key: string, value: Value): void {
  if (key === "__proto__")
    Object.defineProperty(object, key, { value, writable: true, enumerable: true, configurable: true });
  else object[key] = value;
}

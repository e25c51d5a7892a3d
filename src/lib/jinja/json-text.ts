// JSON to values and back, as Python's `json` reads and writes it: ints of any size, 1.0 apart from 1, names in the order
// in which they stand.
import type { Budget } from "./budget.ts";
import { TemplateFault } from "./fault.ts";
import { ExactNumber, isExactList, type ExactJson } from "../../base/domain/text/exact-json.ts";
import { floatText } from "./values/float-text.ts";
import { compareTexts } from "./values/characters.ts";
import { intText, textOf, typeName } from "./values/show.ts";
import { Dict, isList, Tuple, type Value } from "./values/value.ts";

/** Deeper than any JSON that is taken, and shallow enough for the stack. */
const depthMax = 500;

/** A value of JSON; an undefined member is none. */
export function fromJson(json: ExactJson): Value {
  if (json instanceof ExactNumber) return numberOfText(json.text);
  if (typeof json === "number") return Number.isInteger(json) && Math.abs(json) < 1e21 ? BigInt(json) : json;
  if (isExactList(json)) return json.map(fromJson);
  if (typeof json !== "object" || json === null) return json;
  const dict = new Dict();
  for (const [key, member] of Object.entries(json) as readonly [string, ExactJson | undefined][]) {
    if (member !== undefined) dict.set(key, fromJson(member));
  }
  return dict;
}

/** Where a text of JSON is read; it is known to be JSON. */
interface Reading {
  readonly text: string;
  place: number;
}

/** @throws SyntaxError as JSON.parse does; TemplateFault where it is nested too deeply */
export function parseJson(text: string): Value {
  JSON.parse(text);
  return readValue({ text, place: 0 }, 0);
}

const blanks = /[ \t\n\r]*/y;
const word = /[-+.\w]+/y;

function readValue(reading: Reading, depth: number): Value {
  if (depth > depthMax) throw new TemplateFault("JSON is nested too deeply");
  skipBlanks(reading);
  switch (reading.text[reading.place]) {
    case "{": {
      const dict = new Dict();
      readAll(reading, "}", () => {
        skipBlanks(reading);
        const key = readText(reading);
        skipBlanks(reading);
        reading.place += 1;
        dict.set(key, readValue(reading, depth + 1));
      });
      return dict;
    }
    case "[": {
      const items: Value[] = [];
      readAll(reading, "]", () => items.push(readValue(reading, depth + 1)));
      return items;
    }
    case '"':
      return readText(reading);
    default:
      return readWord(reading);
  }
}

function readAll(reading: Reading, end: string, readItem: () => void): void {
  reading.place += 1;
  skipBlanks(reading);
  while (reading.text[reading.place] !== end) {
    readItem();
    skipBlanks(reading);
    if (reading.text[reading.place] === ",") reading.place += 1;
    skipBlanks(reading);
  }
  reading.place += 1;
}

function skipBlanks(reading: Reading): void {
  blanks.lastIndex = reading.place;
  blanks.exec(reading.text);
  reading.place = blanks.lastIndex;
}

function readText(reading: Reading): string {
  let end = reading.place + 1;
  while (reading.text[end] !== '"') end += reading.text[end] === "\\" ? 2 : 1;
  const literal = reading.text.slice(reading.place, end + 1);
  reading.place = end + 1;
  return literal.includes("\\") ? String(JSON.parse(literal)) : literal.slice(1, -1);
}

function readWord(reading: Reading): Value {
  word.lastIndex = reading.place;
  const text = word.exec(reading.text)?.[0] ?? "";
  reading.place += text.length;
  if (text === "null") return null;
  return text === "true" || text === "false" ? text === "true" : numberOfText(text);
}

function numberOfText(text: string): bigint | number {
  return /^-?\d+$/.test(text) ? BigInt(text) : Number(text);
}

export interface JsonForm {
  /** What a level is indented by; null writes all on one line. */
  readonly indent: string | null;
  readonly itemSeparator: string;
  readonly keySeparator: string;
  readonly sortKeys: boolean;
  readonly ensureAscii: boolean;
}

/** @throws TemplateFault for what JSON has no like of */
export function toJson(value: Value, form: JsonForm, budget: Budget): string {
  const pieces: string[] = [];
  let length = 0;
  const add = (piece: string): void => {
    length += piece.length;
    budget.spend();
    budget.require(length);
    pieces.push(piece);
  };
  write(value, { form, add, budget, depth: 0 });
  return pieces.join("");
}

interface Writing {
  readonly form: JsonForm;
  readonly add: (piece: string) => void;
  readonly budget: Budget;
  readonly depth: number;
}

function write(value: Value, writing: Writing): void {
  const { form, add, depth } = writing;
  if (depth > depthMax) throw new TemplateFault("a value is nested too deeply for JSON");
  const below = { ...writing, depth: depth + 1 };
  const newLine = (level: number): string => (form.indent === null ? "" : `\n${form.indent.repeat(level)}`);
  if (isList(value) || value instanceof Tuple) {
    const items = isList(value) ? value : value.items;
    if (items.length === 0) return add("[]");
    items.forEach((item, index) => {
      add((index === 0 ? "[" : form.itemSeparator) + newLine(depth + 1));
      write(item, below);
    });
    add(`${newLine(depth)}]`);
  } else if (value instanceof Dict) {
    if (value.size === 0) return add("{}");
    let isFirst = true;
    for (const [key, member] of membersOf(value, writing)) {
      add((isFirst ? "{" : form.itemSeparator) + newLine(depth + 1));
      isFirst = false;
      add(quotedJson(key, form) + form.keySeparator);
      write(member, below);
    }
    add(`${newLine(depth)}}`);
  } else if (typeof value === "string") add(quotedJson(value, form));
  else {
    const text = scalarText(value);
    if (text === null) throw new TemplateFault(`Object of type ${typeName(value)} is not JSON serializable`);
    add(text);
  }
}

function membersOf(dict: Dict, { form, budget }: Writing): readonly (readonly [string, Value])[] {
  const members = Array.from(dict.entries(), ([key, member]) => {
    const name = typeof key === "string" ? key : scalarText(key);
    if (name === null)
      throw new TemplateFault(`keys must be str, int, float, bool or None, not ${typeName(key)}`);
    return [name, member, key] as const;
  });
  if (!form.sortKeys) return members.map(([name, member]) => [name, member]);
  return members
    .sort(([left], [right]) => compareTexts(left, right))
    .map(([name, member, key]) => {
      if (typeof key !== "string" && members.some((other) => typeof other[2] === "string"))
        throw new TemplateFault(`'<' not supported between instances of 'str' and '${typeName(key)}'`);
      return [textOf(name, budget), member];
    });
}

/** Null for what is no scalar of JSON. */
function scalarText(value: Value): string | null {
  if (value === null) return "null";
  if (typeof value === "boolean") return String(value);
  if (typeof value === "bigint") return intText(value);
  if (typeof value !== "number") return null;
  if (Number.isNaN(value)) return "NaN";
  if (!Number.isFinite(value)) return value > 0 ? "Infinity" : "-Infinity";
  return floatText(value);
}

const escapes: Readonly<Record<string, string>> = {
  '"': '\\"',
  "\\": "\\\\",
  "\n": "\\n",
  "\r": "\\r",
  "\t": "\\t",
  "\f": "\\f",
  "\b": "\\b",
};

// oxlint-disable-next-line no-control-regex -- JSON escapes them
const needsEscape = /["\\\u0000-\u001f]/g;
// oxlint-disable-next-line no-control-regex -- JSON escapes them
const needsEscapeInAscii = /["\\\u0000-\u001f]|[^\u0000-\u007e]/g;

function quotedJson(text: string, { ensureAscii }: JsonForm): string {
  const escaped = text.replaceAll(
    ensureAscii ? needsEscapeInAscii : needsEscape,
    (unit) => escapes[unit] ?? `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`,
  );
  return `"${escaped}"`;
}

// Reads and writes JSON like Python's `json`. Ints may have any size, 1.0 is distinct from 1, and the members of
// objects keep their order.
import type { Budget } from "./budget.ts";
import { TemplateFault } from "./fault.ts";
import { ExactNumber, isExactList, jsonWords, type ExactJson } from "../../base/domain/text/exact-json.ts";
import { floatText } from "./values/float-text.ts";
import { compareTexts } from "./values/characters.ts";
import { intText, textOf, typeName } from "./values/show.ts";
import { Dict, isList, Tuple, type Value } from "./values/value.ts";

/** Maximum nesting depth: above that of any accepted JSON, and safe for the stack. */
const depthMax = 500;

/** Converts a JSON value; undefined members are dropped. */
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

/**
 * Parses JSON.
 *
 * @throws SyntaxError as JSON.parse does; TemplateFault if the JSON is nested too deeply
 */
export function parseJson(text: string): Value {
  JSON.parse(text);
  const words = jsonWords(text);
  const next = (): string => String(words.next().value);
  const read = (word: string, depth: number): Value => {
    if (depth > depthMax) throw new TemplateFault("JSON is nested too deeply");
    if (word === "[") {
      const items: Value[] = [];
      for (let item = next(); item !== "]"; item = next()) items.push(read(item, depth + 1));
      return items;
    }
    if (word === "{") {
      const dict = new Dict();
      for (let key = next(); key !== "}"; key = next()) dict.set(readText(key), read(next(), depth + 1));
      return dict;
    }
    return readScalar(word);
  };
  return read(next(), 0);
}

function readScalar(word: string): Value {
  if (word.startsWith('"')) return readText(word);
  if (word === "null") return null;
  return word === "true" || word === "false" ? word === "true" : numberOfText(word);
}

function readText(word: string): string {
  return word.includes("\\") ? String(JSON.parse(word)) : word.slice(1, -1);
}

function numberOfText(text: string): bigint | number {
  return /^-?\d+$/.test(text) ? BigInt(text) : Number(text);
}

export interface JsonForm {
  /** Indentation per level; null writes a single line. */
  readonly indent: string | null;
  readonly itemSeparator: string;
  readonly keySeparator: string;
  readonly sortKeys: boolean;
  readonly ensureAscii: boolean;
}

/**
 * Writes a value as JSON.
 *
 * @throws TemplateFault for values without a JSON form
 */
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

/** Returns the JSON of a scalar; null for any other value. */
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

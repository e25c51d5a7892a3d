// Converts values to text: `str`, `repr`, names of types, and escaped HTML.
import type { Budget } from "../budget.ts";
import { TemplateFault } from "../fault.ts";
import { isPrintable } from "./characters.ts";
import { floatText } from "./float-text.ts";
import {
  type Value,
  Callable,
  Dict,
  DictView,
  Host,
  isList,
  Markup,
  Range,
  Stream,
  Tuple,
  Undefined,
} from "./value.ts";

/** Returns Python's `str` of a value, its printed form. */
export function textOf(value: Value, budget: Budget): string {
  if (typeof value === "string") return value;
  if (value instanceof Undefined) return "";
  if (value instanceof Markup) return value.text;
  return reprOf(value, budget);
}

/** Returns Python's `repr` of a value, its form within a printed list. */
export function reprOf(value: Value, budget: Budget): string {
  const pieces: string[] = [];
  let length = 0;
  const add = (piece: string): void => {
    length += piece.length;
    budget.spend();
    budget.require(length);
    pieces.push(piece);
  };
  write(value, { add, depth: 0 });
  return pieces.join("");
}

/** Maximum nesting depth: above that of any accepted JSON, and safe for the stack. */
const depthMax = 500;

interface Writing {
  readonly add: (piece: string) => void;
  readonly depth: number;
}

function write(value: Value, { add, depth }: Writing): void {
  if (depth > depthMax) throw new TemplateFault("a value is nested too deeply to be shown");
  const below = { add, depth: depth + 1 };
  const writeAll = (items: Iterable<Value>): void => {
    let isFirst = true;
    for (const item of items) {
      if (!isFirst) add(", ");
      isFirst = false;
      write(item, below);
    }
  };
  if (isList(value)) {
    add("[");
    writeAll(value);
    add("]");
  } else if (value instanceof Tuple) {
    add("(");
    writeAll(value.items);
    add(value.items.length === 1 ? ",)" : ")");
  } else if (value instanceof Dict) {
    add("{");
    let isFirst = true;
    for (const [key, member] of value.entries()) {
      if (!isFirst) add(", ");
      isFirst = false;
      write(key, below);
      add(": ");
      write(member, below);
    }
    add("}");
  } else if (value instanceof DictView) {
    add(`dict_${value.kind}([`);
    writeAll(viewItems(value));
    add("])");
  } else add(scalarRepr(value));
}

/** Returns the items of a dict's view. */
export function viewItems({ dict, kind }: DictView): Value[] {
  if (kind === "keys") return dict.keys();
  return kind === "values" ? dict.values() : Array.from(dict.entries(), (entry) => new Tuple(entry));
}

type Scalar = Exclude<Value, Value[] | Tuple | Dict | DictView>;

function scalarRepr(value: Scalar): string {
  if (value === null) return "None";
  if (value === true) return "True";
  if (value === false) return "False";
  if (typeof value === "bigint") return intText(value);
  if (typeof value === "number") return floatText(value);
  if (typeof value === "string") return quotedText(value);
  if (value instanceof Range)
    return value.step === 1n
      ? `range(${value.start}, ${value.stop})`
      : `range(${value.start}, ${value.stop}, ${value.step})`;
  if (value instanceof Undefined) return "Undefined";
  if (value instanceof Stream) return `<${value.kind} object>`;
  if (value instanceof Markup) return `Markup(${quotedText(value.text)})`;
  if (value instanceof Host) return value.shown();
  if (value.typeName === "type") return `<class '${value.name}'>`;
  const isNamed = value.typeName === "Macro" && value.attributes.get("name") !== null;
  return `<${value.typeName} ${isNamed ? quotedText(value.name) : value.name}>`;
}

/** Python's limit on the digits of a printed int. */
const digitsMax = 4300;

export function intText(value: bigint): string {
  const text = String(value);
  if (text.length > digitsMax)
    throw new TemplateFault(`an int of more than ${digitsMax} digits cannot be shown`);
  return text;
}

const escapes: Readonly<Record<string, string>> = { "\\": "\\\\", "\n": "\\n", "\r": "\\r", "\t": "\\t" };

/** Returns a text in single quotes; in double quotes if it contains single quotes and no double quotes. */
function quotedText(text: string): string {
  const quote = text.includes("'") && !text.includes('"') ? '"' : "'";
  let written = "";
  for (const character of text) {
    if (character === quote) written += `\\${quote}`;
    else written += escapes[character] ?? (isPrintable(character) ? character : escaped(character));
  }
  return quote + written + quote;
}

function escaped(character: string): string {
  const code = character.codePointAt(0) ?? 0;
  const digits = code.toString(16);
  if (code <= 0xff) return `\\x${digits.padStart(2, "0")}`;
  return code <= 0xffff ? `\\u${digits.padStart(4, "0")}` : `\\U${digits.padStart(8, "0")}`;
}

/** Returns Python's name of a value's type. */
export function typeName(value: Value): string {
  if (value === null) return "NoneType";
  if (typeof value === "boolean") return "bool";
  if (typeof value === "bigint") return "int";
  if (typeof value === "number") return "float";
  if (typeof value === "string") return "str";
  if (isList(value)) return "list";
  if (value instanceof Tuple) return "tuple";
  if (value instanceof Dict) return "dict";
  if (value instanceof DictView) return `dict_${value.kind}`;
  if (value instanceof Range) return "range";
  if (value instanceof Stream) return value.kind;
  if (value instanceof Markup) return "Markup";
  if (value instanceof Undefined) return "Undefined";
  return value instanceof Callable ? value.typeName : value.typeName;
}

/** Returns the name of a value in Jinja's errors about a missing attribute. */
export function objectName(value: Value): string {
  if (value === null) return "None";
  return `${typeName(value)} object`;
}

/**
 * HTML escapes. As in Python's markupsafe, a str that was escaped, or marked by `| safe`, is not escaped again; text
 * that is added to it is escaped.
 */
const htmlEntities: Readonly<Record<string, string>> = {
  "&": "&amp;",
  "<": "&lt;",
  ">": "&gt;",
  "'": "&#39;",
  '"': "&#34;",
};

export function escapedHtml(text: string): string {
  return text.replaceAll(/[&<>'"]/g, (character) => htmlEntities[character]);
}

/** @param text printed form of the value */
export function toMarkup(value: Value, text: string): Markup {
  return value instanceof Markup ? value : new Markup(escapedHtml(text));
}

/** Concatenates HTML and a text, in either order; null for other values. */
export function concatMarkup(left: Value, right: Value, budget: Budget): Markup | null {
  if (!(left instanceof Markup) && !(right instanceof Markup)) return null;
  const [before, after] = [htmlOf(left), htmlOf(right)];
  return before === null || after === null ? null : new Markup(budget.text(before + after));
}

function htmlOf(value: Value): string | null {
  if (value instanceof Markup) return value.text;
  return typeof value === "string" ? escapedHtml(value) : null;
}

/** Returns the value without its HTML mark; all operations except addition use it. */
export function withoutMarkup(value: Value): Value {
  return value instanceof Markup ? value.text : value;
}

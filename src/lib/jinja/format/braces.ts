// `"…".format(…)`: fields in braces and Python's format specifications.
import type { Budget } from "../budget.ts";
import { TemplateFault } from "../fault.ts";
import { charactersOf, characterCount } from "../values/characters.ts";
import { numberOf, requireDefined } from "../values/compare.ts";
import { reprOf, textOf, typeName } from "../values/show.ts";
import { Undefined, type CallArguments, type Value } from "../values/value.ts";
import { floatDigits, intDigits, plainFloatDigits, precisionMax } from "./number-spec.ts";
import { truncated } from "./percent.ts";

/** Access to the attributes and items that a field's name refers to. */
export interface FieldAccess {
  attribute(value: Value, name: string): Value;
  item(value: Value, key: Value): Value;
}

/**
 * Formats a text like Python's `str.format`.
 *
 * @throws TemplateFault for formats that `str.format` refuses
 */
export function formatBraces(
  format: string,
  args: CallArguments,
  access: FieldAccess,
  budget: Budget,
): string {
  return new Formatter(args, access, budget).format(format, 2);
}

class Formatter {
  readonly #args: CallArguments;
  readonly #access: FieldAccess;
  readonly #budget: Budget;
  #nextIndex = 0;

  constructor(args: CallArguments, access: FieldAccess, budget: Budget) {
    this.#args = args;
    this.#access = access;
    this.#budget = budget;
  }

  /** @param depth number of levels of nested fields (fields within another field's format) that are still allowed */
  format(text: string, depth: number): string {
    if (depth === 0) throw new TemplateFault("Max string recursion exceeded");
    let made = "";
    let place = 0;
    while (place < text.length) {
      const brace = text.slice(place).search(/[{}]/);
      if (brace < 0) return this.#budget.text(made + text.slice(place));
      made += text.slice(place, place + brace);
      place += brace;
      if (text[place + 1] === text[place]) {
        made += text[place];
        place += 2;
      } else if (text[place] === "}") {
        throw new TemplateFault("Single '}' encountered in format string");
      } else {
        const end = fieldEnd(text, place);
        made += this.#field(text.slice(place + 1, end), depth);
        place = end + 1;
      }
      this.#budget.spend();
      this.#budget.require(made.length);
    }
    return made;
  }

  #field(field: string, depth: number): string {
    const [, name, conversion, spec = ""] =
      /^((?:\[[^\]]*\]|[^[:!])*)(?:!([^:]*))?(?::([\s\S]*))?$/.exec(field) ?? [];
    if (name === undefined) throw new TemplateFault("expected ':' after conversion specifier");
    const value = converted(this.#value(name), conversion, this.#budget);
    return formatValue(value, spec.includes("{") ? this.format(spec, depth - 1) : spec, this.#budget);
  }

  #value(name: string): Value {
    const [, first, rest] = /^([^.[]*)([\s\S]*)$/.exec(name) ?? ["", name, ""];
    let value = this.#argument(first);
    for (const [, attribute, key] of rest.matchAll(/\.([^.[]*)|\[([^\]]*)\]|[\s\S]/g)) {
      if (attribute !== undefined) value = this.#access.attribute(value, attribute);
      else if (key !== undefined) value = this.#access.item(value, /^\d+$/.test(key) ? BigInt(key) : key);
      else throw new TemplateFault("Only '.' or '[' may follow ']' in format field specifier");
    }
    return value;
  }

  #argument(first: string): Value {
    const { positional, named } = this.#args;
    if (first !== "" && !/^\d+$/.test(first)) {
      const value = named.get(first);
      if (value === undefined) throw new TemplateFault(`there is no '${first}' to format`);
      return value;
    }
    const index = first === "" ? this.#nextIndex++ : Number(first);
    const value = positional.at(index);
    if (value === undefined)
      throw new TemplateFault(`Replacement index ${index} out of range for positional args tuple`);
    return value;
  }
}

/** Returns the index of the brace that closes the one at `start`. */
function fieldEnd(text: string, start: number): number {
  let depth = 0;
  for (let place = start; place < text.length; place++) {
    if (text[place] === "{") depth += 1;
    else if (text[place] === "}") {
      depth -= 1;
      if (depth === 0) return place;
    }
  }
  throw new TemplateFault(
    start + 1 === text.length
      ? "Single '{' encountered in format string"
      : "expected '}' before end of string",
  );
}

function converted(value: Value, conversion: string | undefined, budget: Budget): Value {
  if (conversion === undefined) return value;
  if (conversion === "s") return textOf(value, budget);
  if (conversion === "r" || conversion === "a") return reprOf(value, budget);
  throw new TemplateFault(`Unknown conversion specifier ${conversion}`);
}

interface Spec {
  readonly fill: string;
  readonly align: string;
  readonly sign: string;
  readonly isAlternate: boolean;
  readonly width: number;
  readonly grouping: string;
  readonly precision: number | null;
  readonly letter: string;
}

/** Formats a value like Python's `format(value, spec)`. */
function formatValue(value: Value, spec: string, budget: Budget): string {
  if (spec === "") return textOf(value, budget);
  const parsed = parseSpec(spec, value);
  budget.room(parsed.width);
  if (typeof value === "string") return formatText(value, parsed);
  const number = numberOf(value);
  if (value instanceof Undefined) requireDefined(value);
  if (number === null)
    throw new TemplateFault(`unsupported format string passed to ${typeName(value)}.__format__`);
  if (typeof value === "boolean" && (parsed.letter === "" || parsed.letter === "s") && parsed.letter === "s")
    throw new TemplateFault("Unknown format code 's' for object of type 'bool'");
  return typeof number === "bigint" ? formatInt(number, parsed) : formatFloat(number, parsed);
}

function parseSpec(spec: string, value: Value): Spec {
  const match =
    /^(?:([\s\S])(?=[<>=^]))?([<>=^])?([-+ ])?(z)?(#)?(0)?(\d+)?([,_])?(?:\.(\d+))?([a-zA-Z%])?$/u.exec(spec);
  if (match === null)
    throw new TemplateFault(`Invalid format specifier '${spec}' for object of type '${typeName(value)}'`);
  const [, fill, align, sign = "", , alternate, zero, width, grouping = "", precision, letter = ""] = match;
  const isZeroFilled = zero !== undefined && align === undefined;
  if (precision !== undefined && Number(precision) > precisionMax)
    throw new TemplateFault("precision too big");
  return {
    fill: fill ?? (zero === undefined ? " " : "0"),
    align: align ?? (isZeroFilled && typeof value !== "string" ? "=" : ""),
    sign,
    isAlternate: alternate !== undefined,
    width: Number(width ?? 0),
    grouping,
    precision: precision === undefined ? null : Number(precision),
    letter,
  };
}

function formatText(text: string, spec: Spec): string {
  const { letter, precision, align } = spec;
  if (letter !== "" && letter !== "s") throw unknownLetter(letter, "str");
  if (spec.grouping !== "") throw new TemplateFault(`Cannot specify '${spec.grouping}' with 's'.`);
  if (spec.sign !== "") throw new TemplateFault("Sign not allowed in string format specifier");
  if (align === "=") throw new TemplateFault("'=' alignment not allowed in string format specifier");
  return aligned("", precision === null ? text : charactersOf(text).slice(0, precision).join(""), spec, "<");
}

function formatInt(value: bigint, spec: Spec): string {
  const { letter, isAlternate, grouping } = spec;
  if ("eEfFgG%".includes(letter) && letter !== "") return formatFloat(Number(value), spec);
  if (letter === "c") return aligned("", String.fromCodePoint(Number(truncated(Number(value)))), spec, "<");
  if (!["", "d", "n", "b", "o", "x", "X"].includes(letter)) throw unknownLetter(letter, "int");
  if (spec.precision !== null) throw new TemplateFault("Precision not allowed in integer format specifier");
  const prefix = isAlternate && "boxX".includes(letter) && letter !== "" ? `0${letter}` : "";
  const size = grouping === "_" && letter !== "" && "boxX".includes(letter) ? 4 : 3;
  const head = signOf(value < 0n, spec) + prefix;
  return aligned(head, grouped(intDigits(value, letter), grouping, size), spec, ">");
}

function formatFloat(value: number, spec: Spec): string {
  const { letter, precision, isAlternate, grouping } = spec;
  const isNegative = value < 0 || Object.is(value, -0);
  let digits: string;
  if (letter === "") digits = plainFloatDigits(value, precision);
  else if (letter === "%") digits = `${floatDigits(value * 100, "f", precision ?? 6, isAlternate)}%`;
  else if ("eEfFgGn".includes(letter))
    digits = floatDigits(value, letter === "n" ? "g" : letter, precision ?? 6, isAlternate);
  else throw unknownLetter(letter, "float");
  const [whole, ...rest] = digits.split(/(?=[.e%])/);
  return aligned(signOf(isNegative, spec), grouped(whole, grouping, 3) + rest.join(""), spec, ">");
}

function unknownLetter(letter: string, type: string): TemplateFault {
  return new TemplateFault(`Unknown format code '${letter}' for object of type '${type}'`);
}

function signOf(isNegative: boolean, { sign }: Spec): string {
  if (isNegative) return "-";
  return sign === "+" || sign === " " ? sign : "";
}

function grouped(digits: string, separator: string, size: number): string {
  if (separator === "") return digits;
  return digits.replaceAll(new RegExp(`\\B(?=(?:.{${size}})+$)`, "g"), separator);
}

function aligned(head: string, body: string, { fill, align, width, grouping }: Spec, usual: string): string {
  const missing = Math.max(0, width - characterCount(head + body));
  switch (align === "" ? usual : align) {
    case "<":
      return head + body + fill.repeat(missing);
    case "^":
      return fill.repeat(Math.floor(missing / 2)) + head + body + fill.repeat(Math.ceil(missing / 2));
    case "=":
      return (
        head +
        (fill === "0" && grouping !== "" ? zeroGrouped(body, missing, grouping) : fill.repeat(missing) + body)
      );
    default:
      return fill.repeat(missing) + head + body;
  }
}

/** Adds leading zeros, grouped like the digits. */
function zeroGrouped(body: string, missing: number, separator: string): string {
  const [whole, ...rest] = body.split(/(?=[.e%])/);
  const width = whole.length + missing;
  let digits = whole.replaceAll(separator, "");
  let text = whole;
  while (text.length < width) {
    digits = `0${digits}`;
    text = grouped(digits, separator, 3);
  }
  return text + rest.join("");
}

// Filters of numbers and of any value.
import { TemplateFault } from "../fault.ts";
import { truncated } from "../format/percent.ts";
import { toJson, type JsonForm } from "../json-text.ts";
import { Arguments, requireNone } from "../run/arguments.ts";
import type { Filter } from "../run/run.ts";
import { calculate, toFloat } from "../values/arithmetic.ts";
import { isTrue, iterate, numberOf, requireDefined } from "../values/compare.ts";
import { fixedText, roundedQuotient } from "../values/float-text.ts";
import { reprOf, typeName } from "../values/show.ts";
import { Undefined, type Value } from "../values/value.ts";

export const valueFilters: Readonly<Record<string, Filter>> = {
  default: (value, args) => defaultOf("default", value, args),
  d: (value, args) => defaultOf("d", value, args),
  attr: (value, args, run) => {
    const name = new Arguments("attr", args, "name").text("name");
    requireDefined(value);
    return run.attribute(value, name);
  },
  abs: (value, args) => {
    requireNone("abs", args);
    requireDefined(value);
    const number = numberOf(value);
    if (number === null) throw new TemplateFault(`bad operand type for abs(): '${typeName(value)}'`);
    return number < 0 ? -number : typeof number === "number" ? Math.abs(number) : number;
  },
  int: (value, args) => {
    const asked = new Arguments("int", args, "| default base");
    return intOf(value, asked.int("base", 10)) ?? asked.getOr("default", 0n);
  },
  float: (value, args) => {
    const otherwise = new Arguments("float", args, "| default").getOr("default", 0);
    requireDefined(value);
    return floatOf(value) ?? otherwise;
  },
  round: (value, args, { budget }) => {
    const asked = new Arguments("round", args, "| precision method");
    const method = asked.text("method", "common");
    if (!["common", "ceil", "floor"].includes(method))
      throw new TemplateFault("method must be common, ceil or floor");
    requireDefined(value);
    const number = numberOf(value);
    if (number === null) throw new TemplateFault(`type ${typeName(value)} doesn't define __round__ method`);
    const precision = asked.int("precision", 0);
    if (method === "common") return rounded(number, precision);
    const scale = calculate(10n, "**", BigInt(precision), budget);
    const scaled = numberOf(calculate(number, "*", scale, budget)) ?? 0;
    if (typeof scaled === "bigint") return calculate(scaled, "/", scale, budget);
    const whole = truncated(method === "ceil" ? Math.ceil(scaled) : Math.floor(scaled));
    return calculate(whole, "/", scale, budget);
  },
  pprint: (value, args, { budget }) => {
    requireNone("pprint", args);
    return reprOf(value, budget);
  },
  tojson: (value, args, { budget }) => {
    const asked = new Arguments("tojson", args, "| ensure_ascii indent separators sort_keys");
    const indent = indentOf(asked);
    const [itemSeparator, keySeparator] = separatorsOf(asked.get("separators") ?? null, indent);
    const form: JsonForm = {
      indent,
      itemSeparator,
      keySeparator,
      sortKeys: asked.flag("sort_keys"),
      ensureAscii: asked.flag("ensure_ascii"),
    };
    return toJson(value, form, budget);
  },
};

function defaultOf(name: string, value: Value, args: ConstructorParameters<typeof Arguments>[1]): Value {
  const asked = new Arguments(name, args, "| default_value boolean");
  const isMissing = value instanceof Undefined || (asked.flag("boolean") && !isTrue(value));
  return isMissing ? asked.getOr("default_value", "") : value;
}

/** Converts to an int; null if the value is neither a number nor the text of a number. */
function intOf(value: Value, base: number): bigint | null {
  requireDefined(value);
  if (typeof value === "string") {
    const whole = intOfText(value, base);
    if (whole !== null) return whole;
    const float = floatOf(value);
    return float === null || !Number.isFinite(float) ? null : truncated(float);
  }
  const number = numberOf(value);
  if (typeof number !== "number") return number;
  return Number.isFinite(number) ? truncated(number) : null;
}

const prefixes: Readonly<Record<number, string>> = { 2: "0b", 8: "0o", 16: "0x" };

function intOfText(text: string, base: number): bigint | null {
  const [, sign = "", body = ""] = /^([-+]?)(.*)$/s.exec(text.trim().toLowerCase()) ?? [];
  const prefix =
    base === 0 ? /^0[box]/.exec(body)?.[0] : body.startsWith(prefixes[base]) ? prefixes[base] : undefined;
  const radix = base !== 0 ? base : prefix === undefined ? 10 : { "0b": 2, "0o": 8, "0x": 16 }[prefix];
  const digits = body.slice(prefix?.length ?? 0).replaceAll(/(?<=[\da-z])_(?=[\da-z])/g, "");
  if (radix === undefined || radix < 2 || radix > 36 || digits === "" || digits.length > 4300) return null;
  let total = 0n;
  for (const digit of digits) {
    const value = /[\da-z]/.test(digit) ? Number.parseInt(digit, 36) : 36;
    if (value >= radix) return null;
    total = total * BigInt(radix) + BigInt(value);
  }
  return sign === "-" ? -total : total;
}

function floatOf(value: Value): number | null {
  if (typeof value !== "string") {
    const number = numberOf(value);
    return number === null ? null : toFloat(number);
  }
  const text = value
    .trim()
    .toLowerCase()
    .replaceAll(/(?<=\d)_(?=\d)/g, "");
  const special = /^([-+]?)(inf|infinity|nan)$/.exec(text);
  if (special !== null) {
    const magnitude = special[2] === "nan" ? NaN : Infinity;
    return special[1] === "-" ? -magnitude : magnitude;
  }
  return /^[-+]?(\d+\.?\d*|\.\d+)(e[-+]?\d+)?$/.test(text) ? Number(text) : null;
}

/** Rounds half to even, like Python's `round` with a precision. An int stays an int. */
function rounded(number: bigint | number, precision: number): bigint | number {
  if (typeof number === "bigint") {
    if (precision >= 0) return number;
    const unit = 10n ** BigInt(Math.min(-precision, 1000));
    const magnitude = roundedQuotient(number < 0n ? -number : number, unit) * unit;
    return number < 0n ? -magnitude : magnitude;
  }
  if (!Number.isFinite(number) || precision > 323) return number;
  return precision < -308 ? 0 * number : Number(fixedText(number, precision));
}

function indentOf(asked: Arguments): string | null {
  const indent = asked.get("indent") ?? null;
  if (indent === null || typeof indent === "string") return indent;
  return " ".repeat(Math.min(Math.max(0, asked.int("indent")), 1000));
}

function separatorsOf(value: Value, indent: string | null): readonly [string, string] {
  if (value === null) return [indent === null ? ", " : ",", ": "];
  const [item, key, ...more] = Array.from(iterate(value));
  if (typeof item !== "string" || typeof key !== "string" || more.length > 0)
    throw new TemplateFault("tojson() needs two separators");
  return [item, key];
}

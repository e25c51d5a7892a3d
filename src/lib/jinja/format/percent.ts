// `"…" % values`: Python's printf-style formatting.
import type { Budget } from "../budget.ts";
import { TemplateFault } from "../fault.ts";
import { charactersOf, characterCount } from "../values/characters.ts";
import { numberOf, requireDefined } from "../values/compare.ts";
import { reprOf, textOf, typeName } from "../values/show.ts";
import { Dict, isList, Tuple, Undefined, type Value } from "../values/value.ts";
import { floatDigits, intDigits, precisionMax } from "./number-spec.ts";

const directive = /%(?:\(([^)]*)\))?([-+ #0]*)(\*|\d+)?(?:\.(\*|\d*))?[hlL]?([\s\S]?)/g;

/**
 * Formats values like Python's `%` operator.
 *
 * @throws TemplateFault if values and formats do not match
 */
export function formatPercent(format: string, values: Value, budget: Budget): string {
  const operands = new Operands(values);
  let length = 0;
  const text = format.replaceAll(directive, (...match: readonly (string | undefined)[]) => {
    const [, key, flags = "", width, precision, letter = ""] = match;
    budget.spend();
    const piece = formatOne({ key, flags, width, precision, letter }, operands, budget);
    length += piece.length;
    budget.require(length);
    return piece;
  });
  operands.requireAllUsed();
  return budget.text(text);
}

class Operands {
  readonly #values: readonly Value[];
  readonly #mapping: Dict | null;
  #next = 0;
  #isKeyed = false;

  constructor(values: Value) {
    this.#values = values instanceof Tuple ? values.items : [values];
    this.#mapping = values instanceof Dict ? values : null;
  }

  next(): Value {
    if (this.#next >= this.#values.length) throw new TemplateFault("not enough arguments for format string");
    return this.#values[this.#next++];
  }

  named(key: string): Value {
    if (this.#mapping === null) throw new TemplateFault("format requires a mapping");
    this.#isKeyed = true;
    const value = this.#mapping.get(key);
    if (value === undefined) throw new TemplateFault(`there is no '${key}' to format`);
    return value;
  }

  requireAllUsed(): void {
    if (this.#next >= this.#values.length || this.#isKeyed || this.#mapping !== null) return;
    // No error: as in Python, a single list may remain unused, and so may an undefined value.
    const [first] = this.#values;
    if (this.#next === 0 && this.#values.length === 1 && (isList(first) || first instanceof Undefined))
      return;
    throw new TemplateFault("not all arguments converted during string formatting");
  }
}

interface Directive {
  readonly key: string | undefined;
  readonly flags: string;
  readonly width: string | undefined;
  readonly precision: string | undefined;
  readonly letter: string;
}

function formatOne(
  { key, flags, width, precision, letter }: Directive,
  operands: Operands,
  budget: Budget,
): string {
  if (letter === "") throw new TemplateFault("incomplete format");
  if (letter === "%") return "%";
  let isLeft = flags.includes("-");
  let wide = width === "*" ? wholeNumber(operands.next()) : Number(width ?? 0);
  if (wide < 0) [isLeft, wide] = [true, -wide];
  const decimals =
    precision === undefined ? null : precision === "*" ? wholeNumber(operands.next()) : Number(precision);
  if (decimals !== null && decimals > precisionMax) throw new TemplateFault("precision too large");
  budget.room(wide);
  const value = key === undefined ? operands.next() : operands.named(key);
  if ("sra".includes(letter)) {
    const text = letter === "s" ? textOf(value, budget) : reprOf(value, budget);
    return padded(decimals === null ? text : charactersOf(text).slice(0, decimals).join(""), wide, isLeft);
  }
  if (letter === "c") return padded(character(value), wide, isLeft);
  const { isNegative, digits, prefix } = numeral(value, letter, decimals, flags.includes("#"));
  const sign = isNegative ? "-" : flags.includes("+") ? "+" : flags.includes(" ") ? " " : "";
  const head = sign + prefix;
  const fills = flags.includes("0") && !isLeft ? Math.max(0, wide - head.length - digits.length) : 0;
  return padded(head + "0".repeat(fills) + digits, wide, isLeft);
}

function wholeNumber(value: Value): number {
  const number = numberOf(value);
  if (typeof number !== "bigint") throw new TemplateFault("* wants int");
  return Number(number);
}

function character(value: Value): string {
  if (typeof value === "string" && characterCount(value) === 1) return value;
  const number = numberOf(value);
  if (typeof number === "bigint" && number >= 0n && number < 0x110000n)
    return String.fromCodePoint(Number(number));
  throw new TemplateFault("%c requires int or char");
}

interface Numeral {
  readonly isNegative: boolean;
  readonly digits: string;
  readonly prefix: string;
}

function numeral(value: Value, letter: string, decimals: number | null, isAlternate: boolean): Numeral {
  requireDefined(value);
  const number = numberOf(value);
  if ("diuxXo".includes(letter)) {
    const isHex = "xXo".includes(letter);
    if (number === null || (isHex && typeof number === "number"))
      throw new TemplateFault(
        `%${letter} format: ${isHex ? "an integer" : "a real number"} is required, not ${typeName(value)}`,
      );
    const whole = typeof number === "bigint" ? number : truncated(number);
    const digits = intDigits(whole, letter).padStart(decimals ?? 0, "0");
    return { isNegative: whole < 0n, digits, prefix: isAlternate && isHex ? `0${letter}` : "" };
  }
  if ("fFeEgG".includes(letter)) {
    if (number === null) throw new TemplateFault(`must be real number, not ${typeName(value)}`);
    const float = Number(number);
    const digits = floatDigits(float, letter, decimals ?? 6, isAlternate);
    return { isNegative: float < 0 || Object.is(float, -0), digits, prefix: "" };
  }
  throw new TemplateFault(`unsupported format character '${letter}'`);
}

/** Rounds towards 0. */
export function truncated(value: number): bigint {
  if (Number.isNaN(value)) throw new TemplateFault("cannot convert float NaN to integer");
  if (!Number.isFinite(value)) throw new TemplateFault("cannot convert float infinity to integer");
  return BigInt(Math.trunc(value));
}

function padded(text: string, width: number, isLeft: boolean): string {
  const fill = " ".repeat(Math.max(0, width - characterCount(text)));
  return isLeft ? text + fill : fill + text;
}

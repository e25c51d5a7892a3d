// Python's operators on numbers, texts and lists.
import { unreachable } from "../../../base/domain/assert.ts";
import type { Budget } from "../budget.ts";
import { TemplateFault } from "../fault.ts";
import { numberOf, requireDefined } from "./compare.ts";
import { typeName } from "./show.ts";
import { isList, Tuple, type Value } from "./value.ts";

export type Operator = "+" | "-" | "*" | "/" | "//" | "%" | "**";

type Operands = readonly [bigint, bigint] | readonly [number, number];

/**
 * Applies an operator.
 *
 * @throws TemplateFault for types without this operator, and for numbers and texts that are too large
 */
export function calculate(left: Value, operator: Operator, right: Value, budget: Budget): Value {
  requireDefined(left);
  requireDefined(right);
  if (operator === "+") {
    const sum = concatenated(left, right, budget);
    if (sum !== null) return sum;
  }
  if (operator === "*") {
    const repeated = repeat(left, right, budget) ?? repeat(right, left, budget);
    if (repeated !== null) return repeated;
  }
  const operands = operandsOf(left, right);
  if (operands === null) throw unsupported(left, operator, right);
  return operate(operands, operator);
}

/** Concatenates texts, lists and tuples; null for other values. */
function concatenated(left: Value, right: Value, budget: Budget): Value | null {
  if (typeof left === "string") {
    if (typeof right === "string") return budget.text(left + right);
    throw new TemplateFault(`can only concatenate str (not "${typeName(right)}") to str`);
  }
  const [ours, theirs] = [itemsOf(left), itemsOf(right)];
  if (ours === null) return null;
  if (theirs === null || typeName(left) !== typeName(right)) {
    const name = typeName(left);
    throw new TemplateFault(`can only concatenate ${name} (not "${typeName(right)}") to ${name}`);
  }
  budget.room(ours.length + theirs.length);
  const items = [...ours, ...theirs];
  return isList(left) ? items : new Tuple(items);
}

function itemsOf(value: Value): readonly Value[] | null {
  if (isList(value)) return value;
  return value instanceof Tuple ? value.items : null;
}

/** Repeats a sequence; null if `sequence` is not a sequence, or `count` not an int. */
function repeat(sequence: Value, count: Value, budget: Budget): Value | null {
  const items = itemsOf(sequence);
  if (typeof sequence !== "string" && items === null) return null;
  const number = numberOf(count);
  if (typeof number !== "bigint") {
    if (numberOf(sequence) !== null) return null;
    throw new TemplateFault(`can't multiply sequence by non-int of type '${typeName(count)}'`);
  }
  const times = Math.max(0, Number(number));
  const length = typeof sequence === "string" ? sequence.length : (items ?? []).length;
  budget.room(length * times);
  if (length * times > longestMade) throw new TemplateFault("it makes too long a text or list");
  if (typeof sequence === "string") return sequence.repeat(length === 0 ? 0 : times);
  const repeated = length === 0 ? [] : Array.from({ length: times }, () => items ?? []).flat();
  return isList(sequence) ? repeated : new Tuple(repeated);
}

/** Maximum length for a run without limits; it still fits in memory. */
const longestMade = 2 ** 28;

/** Returns the operands as two ints or two floats; null if one is not a number. */
function operandsOf(left: Value, right: Value): Operands | null {
  const [ours, theirs] = [numberOf(left), numberOf(right)];
  if (ours === null || theirs === null) return null;
  if (typeof ours === "bigint" && typeof theirs === "bigint") return [ours, theirs];
  return [toFloat(ours), toFloat(theirs)];
}

/**
 * Converts to a float.
 *
 * @throws TemplateFault for an int that is too large
 */
export function toFloat(value: bigint | number): number {
  const float = Number(value);
  if (typeof value === "bigint" && !Number.isFinite(float))
    throw new TemplateFault("int too large to convert to float");
  return float;
}

function operate([left, right]: Operands, operator: Operator): Value {
  if (typeof left === "bigint" && typeof right === "bigint") return operateInts(left, operator, right);
  return operateFloats(Number(left), operator, Number(right));
}

/** Maximum size of a computed int in bits: far more than any template needs, and still fast. */
const bitsMax = 65_536;

function operateInts(left: bigint, operator: Operator, right: bigint): bigint | number {
  switch (operator) {
    case "+":
      return left + right;
    case "-":
      return left - right;
    case "*":
      requireBits(bitsOf(left) + bitsOf(right));
      return left * right;
    case "/":
      requireDivisor(right, "division by zero");
      return toFloat(left) / toFloat(right);
    case "//":
      requireDivisor(right, "integer division or modulo by zero");
      return (left - floorRemainder(left, right)) / right;
    case "%":
      requireDivisor(right, "integer modulo by zero");
      return floorRemainder(left, right);
    case "**":
      if (right < 0n) {
        requireDivisor(left, "0.0 cannot be raised to a negative power");
        return toFloat(left) ** toFloat(right);
      }
      requireBits(left >= -1n && left <= 1n ? 0 : bitsOf(left) * Number(right));
      return left >= -1n && left <= 1n
        ? left ** (right % 2n === 0n ? 2n * BigInt(right > 0n) : 1n)
        : left ** right;
    default:
      return unreachable(operator);
  }
}

function operateFloats(left: number, operator: Operator, right: number): number {
  switch (operator) {
    case "+":
      return left + right;
    case "-":
      return left - right;
    case "*":
      return left * right;
    case "/":
      requireDivisor(right, "float division by zero");
      return left / right;
    case "//": {
      requireDivisor(right, "float floor division by zero");
      return Math.floor((left - floatRemainder(left, right)) / right + 0.5);
    }
    case "%":
      requireDivisor(right, "float modulo");
      return floatRemainder(left, right);
    case "**":
      if (left === 0 && right < 0) throw new TemplateFault("0.0 cannot be raised to a negative power");
      if (left < 0 && !Number.isInteger(right))
        throw new TemplateFault("a root of a negative number is complex");
      return left ** right;
    default:
      return unreachable(operator);
  }
}

/** Returns the remainder with the sign of the divisor. */
function floorRemainder(left: bigint, right: bigint): bigint {
  const remainder = left % right;
  return remainder !== 0n && remainder < 0n !== right < 0n ? remainder + right : remainder;
}

function floatRemainder(left: number, right: number): number {
  const remainder = left % right;
  if (remainder === 0) return right < 0 ? -0 : 0;
  return remainder < 0 !== right < 0 ? remainder + right : remainder;
}

function requireDivisor(value: bigint | number, message: string): void {
  if (Number(value) === 0) throw new TemplateFault(message);
}

function bitsOf(value: bigint): number {
  return value.toString(16).length * 4;
}

function requireBits(count: number): void {
  if (count > bitsMax) throw new TemplateFault(`an int of more than ${bitsMax} bits is too large`);
}

/** @throws TemplateFault for a value that is not a number */
export function negated(value: Value): Value {
  const number = signed(value, "-");
  return -number;
}

/** @throws TemplateFault for a value that is not a number */
export function signed(value: Value, sign: "+" | "-"): bigint | number {
  requireDefined(value);
  const number = numberOf(value);
  if (number === null) throw new TemplateFault(`bad operand type for unary ${sign}: '${typeName(value)}'`);
  return number;
}

function unsupported(left: Value, operator: Operator, right: Value): TemplateFault {
  const shown = operator === "**" ? "** or pow()" : operator;
  const names = `'${typeName(left)}' and '${typeName(right)}'`;
  return new TemplateFault(`unsupported operand type(s) for ${shown}: ${names}`);
}

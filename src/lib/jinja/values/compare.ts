// Truth, equality, order, membership and iteration as in Python.
import type { Budget } from "../budget.ts";
import { TemplateFault } from "../fault.ts";
import { charactersOf, compareTexts, characterCount } from "./characters.ts";
import { typeName, viewItems } from "./show.ts";
import {
  Callable,
  Dict,
  DictView,
  isHashable,
  isList,
  Range,
  Stream,
  Tuple,
  Undefined,
  type Value,
} from "./value.ts";

export function isTrue(value: Value): boolean {
  if (value === null || value instanceof Undefined) return false;
  if (typeof value === "boolean") return value;
  if (typeof value === "bigint") return value !== 0n;
  if (typeof value === "number") return value !== 0;
  return (lengthOf(value) ?? 1) > 0;
}

/** Returns the length; null for a value without a length. */
export function lengthOf(value: Value): number | null {
  if (typeof value === "string") return value === "" ? 0 : characterCount(value);
  if (isList(value)) return value.length;
  if (value instanceof Tuple) return value.items.length;
  if (value instanceof Dict) return value.size;
  if (value instanceof DictView) return value.dict.size;
  if (value instanceof Range) return value.length;
  return value instanceof Undefined ? 0 : null;
}

export function equals(left: Value, right: Value, budget: Budget): boolean {
  budget.spend();
  if (left === right) return true;
  const [leftNumber, rightNumber] = [numberOf(left), numberOf(right)];
  // A bigint and a number are compared by value.
  // oxlint-disable-next-line eqeqeq -- so it is meant
  if (leftNumber !== null && rightNumber !== null) return leftNumber == rightNumber;
  if (isList(left)) return isList(right) && allEqual(left, right, budget);
  if (left instanceof Tuple) return right instanceof Tuple && allEqual(left.items, right.items, budget);
  if (left instanceof Dict) {
    if (!(right instanceof Dict) || right.size !== left.size) return false;
    for (const [key, value] of left.entries()) {
      const other = right.get(key);
      if (other === undefined || !equals(value, other, budget)) return false;
    }
    return true;
  }
  if (left instanceof Range)
    return (
      right instanceof Range &&
      left.length === right.length &&
      (left.length === 0 || (left.start === right.start && (left.length === 1 || left.step === right.step)))
    );
  if (
    left instanceof DictView &&
    right instanceof DictView &&
    left.kind === right.kind &&
    left.kind !== "values"
  )
    return (
      left.dict.size === right.dict.size && viewItems(left).every((item) => contains(right, item, budget))
    );
  return left instanceof Undefined && right instanceof Undefined;
}

/** Returns the number of a value; a bool counts as an int. Returns null for a value that is not a number. */
export function numberOf(value: Value): bigint | number | null {
  if (typeof value === "boolean") return value ? 1n : 0n;
  return typeof value === "bigint" || typeof value === "number" ? value : null;
}

function allEqual(left: readonly Value[], right: readonly Value[], budget: Budget): boolean {
  return left.length === right.length && left.every((item, index) => equals(item, right[index], budget));
}

export type Order = "<" | "<=" | ">" | ">=";

/**
 * True if the values have this order.
 *
 * @throws TemplateFault for values without an order
 */
export function isOrdered(left: Value, order: Order, right: Value, budget: Budget): boolean {
  const sign = orderOf(left, right, budget);
  if (sign === null) return false;
  if (sign === undefined) {
    const names = `'${typeName(left)}' and '${typeName(right)}'`;
    throw new TemplateFault(`'${order}' not supported between instances of ${names}`);
  }
  if (order === "<") return sign < 0;
  if (order === "<=") return sign <= 0;
  return order === ">" ? sign > 0 : sign >= 0;
}

/**
 * Returns a negative number, 0, or a positive number; null if one value is nan; undefined for values without an order.
 */
function orderOf(left: Value, right: Value, budget: Budget): number | null | undefined {
  budget.spend();
  requireDefined(left);
  requireDefined(right);
  if (typeof left === "string" && typeof right === "string") return compareTexts(left, right);
  const [leftNumber, rightNumber] = [numberOf(left), numberOf(right)];
  if (leftNumber !== null && rightNumber !== null) {
    if (Number.isNaN(leftNumber) || Number.isNaN(rightNumber)) return null;
    return leftNumber < rightNumber ? -1 : leftNumber > rightNumber ? 1 : 0;
  }
  if (isList(left) && isList(right)) return compareLists(left, right, budget);
  if (left instanceof Tuple && right instanceof Tuple) return compareLists(left.items, right.items, budget);
  return undefined;
}

function compareLists(
  left: readonly Value[],
  right: readonly Value[],
  budget: Budget,
): number | null | undefined {
  for (let index = 0; index < left.length && index < right.length; index++) {
    if (!equals(left[index], right[index], budget)) return orderOf(left[index], right[index], budget);
  }
  return left.length - right.length;
}

/**
 * True if a container contains an item.
 *
 * @throws TemplateFault if `within` is not a container
 */
export function contains(within: Value, item: Value, budget: Budget): boolean {
  if (typeof within === "string") {
    if (typeof item !== "string") {
      requireDefined(item);
      throw new TemplateFault(`'in <string>' requires string as left operand, not ${typeName(item)}`);
    }
    budget.room(Math.min(within.length, 1024));
    return within.includes(item);
  }
  if (within instanceof Dict) return within.has(hashableKey(item));
  if (within instanceof DictView && within.kind === "keys") return within.dict.has(hashableKey(item));
  if (within instanceof Range) {
    const number = numberOf(item);
    if (number === null || (typeof number === "number" && !Number.isInteger(number))) return false;
    const index = (BigInt(number) - within.start) / within.step;
    return index >= 0n && index < within.length && within.at(Number(index)) === BigInt(number);
  }
  for (const other of iterate(within, "argument of type")) {
    if (equals(other, item, budget)) return true;
  }
  return false;
}

/** Returns the key unchanged; throws TemplateFault if it is not hashable. */
export function hashableKey(key: Value): Value {
  if (!isHashable(key)) throw new TemplateFault(`unhashable type: '${typeName(key)}'`);
  return key;
}

/**
 * Iterates over the items.
 *
 * @param subject beginning of the error message, before the name of the value's type
 * @throws TemplateFault for a value that is not iterable
 */
export function iterate(value: Value, subject = ""): IterableIterator<Value> {
  if (isList(value)) return value[Symbol.iterator]();
  if (typeof value === "string") return charactersOf(value)[Symbol.iterator]() as IterableIterator<Value>;
  if (value instanceof Tuple) return value.items[Symbol.iterator]() as IterableIterator<Value>;
  if (value instanceof Dict) return value.keys()[Symbol.iterator]();
  if (value instanceof DictView) return viewItems(value)[Symbol.iterator]();
  if (value instanceof Range) return rangeItems(value);
  if (value instanceof Stream) return streamItems(value);
  if (value instanceof Undefined) return [][Symbol.iterator]();
  const name = `'${typeName(value)}'`;
  throw new TemplateFault(`${subject === "" ? `${name} object` : `${subject} ${name}`} is not iterable`);
}

export function isIterable(value: Value): boolean {
  return lengthOf(value) !== null || value instanceof Stream;
}

function* rangeItems(range: Range): Generator<Value> {
  for (let index = 0; index < range.length; index++) yield range.at(index);
}

/**
 * Yields the items that have not been read. It does not close the iterator: if a reader stops early, the next reader
 * gets the remaining items.
 */
function* streamItems({ iterator }: Stream): Generator<Value> {
  for (let next = iterator.next(); next.done !== true; next = iterator.next()) yield next.value;
}

/** Returns all items; throws as {@link iterate} does, and if there are too many. */
export function listOf(value: Value, budget: Budget): Value[] {
  const length = lengthOf(value);
  if (length !== null) budget.room(length);
  const items: Value[] = [];
  for (const item of iterate(value)) {
    budget.spend();
    items.push(item);
    if (length === null) budget.require(items.length);
  }
  return items;
}

/**
 * Requires a defined value.
 *
 * @throws TemplateFault for an undefined value
 */
export function requireDefined(value: Value): void {
  if (value instanceof Undefined) throw new TemplateFault(value.message);
}

export function isCallable(value: Value): boolean {
  return value instanceof Callable || value instanceof Undefined;
}

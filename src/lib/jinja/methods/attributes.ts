// Reads `value.name`, `value[key]` and slices. As in Jinja's sandbox, `.name` prefers attributes and `[key]` prefers
// items.
import { TemplateFault } from "../fault.ts";
import type { Method, Run } from "../run/run.ts";
import { objectName, reprOf, typeName } from "../values/show.ts";
import {
  type Value,
  Callable,
  Dict,
  Group,
  Host,
  isList,
  Range,
  Tuple,
  Undefined,
  isHashable,
} from "../values/value.ts";
import {
  changing,
  dictMethods,
  floatMethods,
  intMethods,
  listMethods,
  rangeMethods,
  sequenceMethods,
} from "./collection-methods.ts";
import { textMethods } from "./text-methods.ts";
import type { Budget } from "../budget.ts";
import { charactersOf } from "../values/characters.ts";
import { numberOf } from "../values/compare.ts";

/**
 * Evaluates `value.name`.
 *
 * @throws TemplateFault if `value` is undefined
 */
export function attributeOf(value: Value, name: string, run: Run): Value {
  if (value instanceof Undefined) throw new TemplateFault(value.message);
  const own = ownAttribute(value, name, run);
  if (own !== undefined) return own;
  const item = memberOf(value, name);
  return item === undefined ? undefinedAttribute(value, name, run) : item;
}

/**
 * Evaluates `value[key]`.
 *
 * @throws TemplateFault if `value` is undefined
 */
export function subscriptOf(value: Value, key: Value, run: Run): Value {
  if (value instanceof Undefined) throw new TemplateFault(value.message);
  const item = memberOf(value, key);
  if (item !== undefined) return item;
  const own = typeof key === "string" ? ownAttribute(value, key, run) : undefined;
  return own === undefined ? undefinedAttribute(value, key, run) : own;
}

function memberOf(value: Value, key: Value): Value | undefined {
  return value instanceof Callable ? (value.parametrized ?? undefined) : itemOf(value, key);
}

function undefinedAttribute(value: Value, key: Value, { budget }: Run): Undefined {
  const name = objectName(value);
  if (typeof key === "string") return new Undefined(`'${name}' has no attribute '${key}'`);
  return new Undefined(`${name} has no element ${reprOf(key, budget)}`);
}

/**
 * Returns an attribute that the value's Python type defines. Returns undefined if the type has no such attribute, and a
 * Jinja `Undefined` if templates must not use the attribute.
 */
function ownAttribute(value: Value, name: string, run: Run): Value | undefined {
  if (/^__\w+__$/.test(name)) return unsafe(value, name);
  if (value instanceof Host) return name.startsWith("_") ? undefined : value.attribute(name);
  if (value instanceof Callable) return value.attributes.get(name);
  if (typeof value === "string") return bound(textMethods, value, name, run);
  if (isList(value))
    return changing.list.has(name) ? unsafe(value, name) : bound(listMethods, value, name, run);
  if (value instanceof Dict)
    return changing.dict.has(name) ? unsafe(value, name) : bound(dictMethods, value, name, run);
  if (value instanceof Group && (name === "grouper" || name === "list")) return value[name];
  if (value instanceof Tuple) return bound(sequenceMethods, value.items, name, run);
  if (value instanceof Range) return rangeAttribute(value, name, run);
  if (typeof value === "boolean") return numberAttribute(BigInt(value), name, run);
  if (typeof value === "bigint" || typeof value === "number") return numberAttribute(value, name, run);
  return undefined;
}

function bound<Self>(
  methods: Readonly<Record<string, Method<Self>>>,
  self: Self,
  name: string,
  run: Run,
): Value | undefined {
  if (!Object.hasOwn(methods, name)) return undefined;
  const method = methods[name];
  return new Callable(name, (args) => method(self, args, run), { typeName: "builtin_function_or_method" });
}

function rangeAttribute(range: Range, name: string, run: Run): Value | undefined {
  if (name === "start" || name === "stop" || name === "step") return range[name];
  return bound(rangeMethods, range, name, run);
}

function numberAttribute(value: bigint | number, name: string, run: Run): Value | undefined {
  if (name === "real") return value;
  if (name === "imag") return typeof value === "bigint" ? 0n : 0;
  if (typeof value === "number") return bound(floatMethods, value, name, run);
  if (name === "numerator") return value;
  return name === "denominator" ? 1n : bound(intMethods, value, name, run);
}

function unsafe(value: Value, name: string): Undefined {
  return new Undefined(`access to attribute '${name}' of '${typeName(value)}' object is unsafe.`);
}

/** Bounds of a slice; null if omitted. */
export interface Slice {
  readonly start: Value;
  readonly stop: Value;
  readonly step: Value;
}

/** Returns an item; undefined if there is no such key or index, or the value has no items. */
function itemOf(value: Value, key: Value): Value | undefined {
  if (value instanceof Dict) return isHashable(key) ? value.get(key) : undefined;
  const index = numberOf(key);
  if (typeof index !== "bigint") return undefined;
  if (typeof value === "string") return charactersOf(value).at(Number(index));
  if (isList(value)) return value.at(Number(index));
  if (value instanceof Tuple) return value.items.at(Number(index));
  if (!(value instanceof Range)) return undefined;
  const place = index < 0n ? index + BigInt(value.length) : index;
  return place >= 0n && place < value.length ? value.at(Number(place)) : undefined;
}

/** Returns a slice of the value; undefined if the value cannot be sliced. */
export function sliceOf(value: Value, slice: Slice, budget: Budget): Value | undefined {
  if (typeof value === "string") {
    if (slice.step === null && isWhole(slice)) return value;
    return budget.text(sliced(charactersOf(value), slice).join(""));
  }
  if (isList(value)) return sliced(value, slice);
  if (value instanceof Tuple) return new Tuple(sliced(value.items, slice));
  if (!(value instanceof Range)) return undefined;
  const { start, step, count } = bounds(value.length, slice);
  const stride = value.step * BigInt(step);
  const first = value.at(start);
  return new Range({ start: first, stop: first + BigInt(count) * stride, step: stride });
}

function isWhole({ start, stop }: Slice): boolean {
  return (start === null || start === 0n) && stop === null;
}

function sliced<Item>(items: readonly Item[], slice: Slice): Item[] {
  const { start, step, count } = bounds(items.length, slice);
  if (step === 1) return items.slice(start, start + count);
  return Array.from({ length: count }, (_, index) => items[start + index * step]);
}

interface Bounds {
  readonly start: number;
  readonly step: number;
  readonly count: number;
}

function bounds(length: number, slice: Slice): Bounds {
  const step = slice.step === null ? 1 : clamped(slice.step, length + 1);
  if (step === 0) throw new TemplateFault("slice step cannot be zero");
  const [lowest, highest] = step > 0 ? [0, length] : [-1, length - 1];
  const bound = (value: Value, otherwise: number): number => {
    if (value === null) return otherwise;
    const place = clamped(value, length + 1);
    return Math.min(Math.max(place < 0 ? place + length : place, lowest), highest);
  };
  const start = bound(slice.start, step > 0 ? lowest : highest);
  const stop = bound(slice.stop, step > 0 ? highest : lowest);
  return { start, step, count: Math.max(0, Math.ceil((stop - start) / step)) };
}

/** Converts to a number, clamped to a magnitude far beyond the sequence's ends. */
function clamped(value: Value, far: number): number {
  const number = numberOf(value);
  if (typeof number !== "bigint")
    throw new TemplateFault(`slice indices must be integers or None, not ${typeName(value)}`);
  const most = BigInt(far) * 2n;
  return Number(number > most ? most : number < -most ? -most : number);
}

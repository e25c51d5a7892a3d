// What stands in brackets behind a value: an index, a key, a slice.
import type { Budget } from "../budget.ts";
import { TemplateFault } from "../fault.ts";
import { charactersOf } from "./characters.ts";
import { numberOf } from "./compare.ts";
import { typeName } from "./show.ts";
import { Dict, isHashable, isList, Range, Tuple, type Value } from "./value.ts";

/** Bounds of a slice; null where none is given. */
export interface Slice {
  readonly start: Value;
  readonly stop: Value;
  readonly step: Value;
}

/** Undefined where there is none: no such key or index, or nothing that has items. */
export function itemOf(value: Value, key: Value): Value | undefined {
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

/** Undefined for what has no slices. */
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

/** As a number that is far beyond the sequence at most. */
function clamped(value: Value, far: number): number {
  const number = numberOf(value);
  if (typeof number !== "bigint")
    throw new TemplateFault(`slice indices must be integers or None, not ${typeName(value)}`);
  const most = BigInt(far) * 2n;
  return Number(number > most ? most : number < -most ? -most : number);
}

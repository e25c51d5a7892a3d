// Bounds and step of a set of numbers, as far as they follow from the schema's keywords. If only few values are
// possible, they are listed, which costs far less than an automaton with the remainders of several divisors.
import { bezout } from "../../regex/multiple.ts";
import { doubleDecimal } from "./decimals.ts";

/** A superset of the numbers in a set. */
export interface Span {
  readonly least: number;
  readonly greatest: number;
  /** Integer that divides all of the numbers; 0 if none is known. */
  readonly step: number;
}

export const everywhere: Span = {
  least: Number.NEGATIVE_INFINITY,
  greatest: Number.POSITIVE_INFINITY,
  step: 0,
};

/** Maximum number of values to list. */
const fewPlaces = 128;

export function commonSpan(one: Span, other: Span): Span {
  return {
    least: Math.max(one.least, other.least),
    greatest: Math.min(one.greatest, other.greatest),
    step: commonStep(one.step, other.step),
  };
}

/** Returns the least common multiple of two steps, or one of the steps if a double cannot hold the multiple. */
function commonStep(one: number, other: number): number {
  if (one === 0 || other === 0) return one + other;
  const step = (one / bezout(one, other).divisor) * other;
  return Number.isSafeInteger(step) ? step : one;
}

/**
 * Returns the decimal texts of all values in ascending order; null if there are too many values, or if they are
 * unknown.
 */
export function listSpanValues({ least, greatest, step }: Span): readonly string[] | null {
  if (step === 0 || !Number.isSafeInteger(Math.ceil(least)) || !Number.isSafeInteger(Math.floor(greatest)))
    return null;
  const first = Math.ceil(least / step);
  const count = Math.max(0, Math.floor(greatest / step) - first + 1);
  if (count > fewPlaces) return null;
  return Array.from({ length: count }, (_, index) => doubleDecimal((first + index) * step));
}

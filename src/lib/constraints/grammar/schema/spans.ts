// Bounds and grid of a number, as far as its keywords show them. If few values are possible they are listed, which
// costs far less than an automaton with the remainders of several divisors.
import { bezout } from "../../regex/multiple.ts";
import { doubleDecimal } from "./decimals.ts";

/** A superset of the numbers. */
export interface Span {
  readonly least: number;
  readonly greatest: number;
  /** An integer divisor of all numbers; 0 if none is known. */
  readonly step: number;
}

export const everywhere: Span = {
  least: Number.NEGATIVE_INFINITY,
  greatest: Number.POSITIVE_INFINITY,
  step: 0,
};

/** Maximum number of listed values. */
const fewPlaces = 128;

export function commonSpan(one: Span, other: Span): Span {
  return {
    least: Math.max(one.least, other.least),
    greatest: Math.min(one.greatest, other.greatest),
    step: commonStep(one.step, other.step),
  };
}

/** Returns the least common multiple, or one of the steps if a double cannot hold it. */
function commonStep(one: number, other: number): number {
  if (one === 0 || other === 0) return one + other;
  const step = (one / bezout(one, other).divisor) * other;
  return Number.isSafeInteger(step) ? step : one;
}

/** Returns the decimal texts of all values in order; null if they are many or unknown. */
export function listSpanValues({ least, greatest, step }: Span): readonly string[] | null {
  if (step === 0 || !Number.isSafeInteger(Math.ceil(least)) || !Number.isSafeInteger(Math.floor(greatest)))
    return null;
  const first = Math.ceil(least / step);
  const count = Math.max(0, Math.floor(greatest / step) - first + 1);
  if (count > fewPlaces) return null;
  return Array.from({ length: count }, (_, index) => doubleDecimal((first + index) * step));
}

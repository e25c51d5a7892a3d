// Where numbers can lie at all, as far as their keywords plainly say: between which bounds, and on which grid. Few enough
// places are listed: that is far less than an automaton that keeps the remainders of several divisors.
import { bezout } from "../../regex/multiple.ts";
import { doubleDecimal } from "./decimals.ts";

/** Every number lies in it; not every number in it need be one. */
export interface Span {
  readonly least: number;
  readonly greatest: number;
  /** A whole number of which all are multiples; 0 where none is known. */
  readonly step: number;
}

export const everywhere: Span = {
  least: Number.NEGATIVE_INFINITY,
  greatest: Number.POSITIVE_INFINITY,
  step: 0,
};

/** Up to so many places are listed. */
const fewPlaces = 128;

export function commonSpan(one: Span, other: Span): Span {
  return {
    least: Math.max(one.least, other.least),
    greatest: Math.min(one.greatest, other.greatest),
    step: commonStep(one.step, other.step),
  };
}

/** The least common multiple, or one of the steps where doubles do not hold it. */
function commonStep(one: number, other: number): number {
  if (one === 0 || other === 0) return one + other;
  const step = (one / bezout(one, other).divisor) * other;
  return Number.isSafeInteger(step) ? step : one;
}

/** The decimal texts of all places in it, in order; null where they are many or unknown. */
export function fewPlacesOf({ least, greatest, step }: Span): readonly string[] | null {
  if (step === 0 || !Number.isSafeInteger(Math.ceil(least)) || !Number.isSafeInteger(Math.floor(greatest)))
    return null;
  const first = Math.ceil(least / step);
  const count = Math.max(0, Math.floor(greatest / step) - first + 1);
  if (count > fewPlaces) return null;
  return Array.from({ length: count }, (_, index) => doubleDecimal((first + index) * step));
}

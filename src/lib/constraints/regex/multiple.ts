// An automaton for decimal digits that must form a multiple of a number. Its state is the remainder of the digits
// read. Signs and JSON's number syntax are handled elsewhere.

/** State of reading a multiple of divisor / 10^scale. */
export interface Multiple {
  readonly divisor: number;
  /** Number of decimal places by which the divisor was shifted to make it an integer. */
  readonly scale: number;
  /** Remainder of the digits read so far, taken as an integer. */
  readonly remainder: number;
  /** Number of digits read after the decimal point; -1 before the point. */
  readonly fractionDigits: number;
  /** Number of digits that may still follow. */
  readonly digitsLeft: number;
}

export const pointByte = ".".charCodeAt(0);
const zeroByte = "0".charCodeAt(0);

/** Largest divisor for which ten times a remainder is still an exact integer in a double. */
export const divisorMax = 2 ** 48;

/** Number of decimal digits that a double always holds exactly. */
export const multipleDigitsMax = 15;

/** Returns the state before the first digit. */
export function multipleOf(divisor: number, scale: number): Multiple {
  return { divisor, scale, remainder: 0, fractionDigits: -1, digitsLeft: multipleDigitsMax };
}

/**
 * Largest divisor of a common multiple. Up to this divisor, the products that compute the remainder are exact in a
 * double.
 */
const commonDivisorMax = 1e6;

/** Returns the state that accepts exactly the continuations that both states accept; null if no single state does. */
export function commonMultiple(one: Multiple, other: Multiple): Multiple | null {
  const { divisor: common, factor } = bezout(one.divisor, other.divisor);
  const divisor = (one.divisor / common) * other.divisor;
  if (!isInStep(one, other) || divisor > commonDivisorMax) return null;
  const apart = (other.remainder - one.remainder) / common;
  if (!Number.isInteger(apart)) return null;
  // Chinese remainder theorem: adding `one.divisor` this many times reaches a number that satisfies `other` too.
  const stepCount = modulo(
    modulo(apart, other.divisor) * modulo(factor, other.divisor),
    other.divisor / common,
  );
  return { ...one, divisor, remainder: modulo(one.remainder + one.divisor * stepCount, divisor) };
}

/** True if each continuation that completes a multiple for `one` also completes a multiple for `other`. */
export function isAlwaysMultiple(one: Multiple, other: Multiple): boolean {
  if (!isInStep(one, other) || one.divisor % other.divisor !== 0) return false;
  return one.remainder % other.divisor === other.remainder;
}

function isInStep(one: Multiple, other: Multiple): boolean {
  const { scale, fractionDigits, digitsLeft } = one;
  return scale === other.scale && fractionDigits === other.fractionDigits && digitsLeft === other.digitsLeft;
}

/** Returns the greatest common divisor, and the Bézout coefficient of `one` modulo `other`. */
export function bezout(one: number, other: number): { readonly divisor: number; readonly factor: number } {
  let [divisor, rest] = [one, other];
  let [factor, next] = [1, 0];
  while (rest !== 0) {
    const times = Math.floor(divisor / rest);
    [divisor, rest] = [rest, divisor - times * rest];
    [factor, next] = [next, factor - times * next];
  }
  return { divisor, factor };
}

const modulo = (value: number, divisor: number): number => ((value % divisor) + divisor) % divisor;

/** True if the number read so far is already a multiple. */
export function isMultiple({ divisor, scale, remainder, fractionDigits }: Multiple): boolean {
  return remainder % withoutTens(divisor, scale - Math.max(0, fractionDigits)) === 0;
}

/** Returns the state after one more byte; null if the text can no longer become a multiple. */
export function digitOf(multiple: Multiple, byte: number): Multiple | null {
  const { divisor, scale, remainder, fractionDigits, digitsLeft } = multiple;
  const next = (): Multiple | null => {
    if (byte === pointByte) return fractionDigits < 0 ? { ...multiple, fractionDigits: 0 } : null;
    const digit = byte - zeroByte;
    if (digit < 0 || digit > 9 || digitsLeft === 0) return null;
    const left = { ...multiple, digitsLeft: digitsLeft - 1 };
    if (fractionDigits >= scale) return digit === 0 && remainder === 0 ? left : null;
    return {
      ...left,
      remainder: (remainder * 10 + digit) % divisor,
      fractionDigits: fractionDigits < 0 ? -1 : fractionDigits + 1,
    };
  };
  const after = next();
  return after === null || completionOf(after) === null ? null : after;
}

/**
 * Returns the fewest digits that complete a multiple; null if no digits can. Before the decimal point it returns
 * integer digits, since fraction digits would not be fewer.
 */
export function completionOf(multiple: Multiple): string | null {
  const { divisor, scale, remainder, fractionDigits, digitsLeft } = multiple;
  const isFraction = fractionDigits >= 0;
  const countMax = isFraction ? Math.min(digitsLeft, scale - fractionDigits) : digitsLeft;
  let rest = remainder;
  for (let count = 0; count <= countMax; count++) {
    const coarse = withoutTens(divisor, isFraction ? scale - fractionDigits - count : scale);
    const wanted = (coarse - (rest % coarse)) % coarse;
    const digits = wanted === 0 ? "" : String(wanted);
    if (digits.length <= count) return digits.padStart(count, "0");
    rest = (rest * 10) % divisor;
  }
  return null;
}

/**
 * Returns the divisor without the factors it shares with the power of ten, since trailing zeros provide those factors.
 */
function withoutTens(divisor: number, power: number): number {
  let left = divisor;
  for (let place = 0; place < power; place++) {
    if (left % 10 === 0) left /= 10;
    else if (left % 5 === 0) left /= 5;
    else if (left % 2 === 0) left /= 2;
    else break;
  }
  return left;
}

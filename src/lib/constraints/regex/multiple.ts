// The digits of a decimal number that is a multiple of another, as an automaton: its state is the remainder of what was
// read. Signs and the JSON form of numbers are handled elsewhere.

/** A multiple of divisor / 10^scale, of which some digits have been read. */
export interface Multiple {
  readonly divisor: number;
  /** How many decimal places the divisor was shifted by to be whole. */
  readonly scale: number;
  /** Of the digits read, taken as a whole number. */
  readonly remainder: number;
  /** How many digits behind the point were read; -1 before the point. */
  readonly fractionDigits: number;
  /** How many digits may still come. */
  readonly digitsLeft: number;
}

export const pointByte = ".".charCodeAt(0);
const zeroByte = "0".charCodeAt(0);

/** Divisors up to this keep every remainder, times ten, a whole number that a double holds. */
export const divisorMax = 2 ** 48;

/** As many digits as every double holds exactly. */
export const multipleDigitsMax = 15;

/** A multiple of which nothing has been read. */
export function multipleOf(divisor: number, scale: number): Multiple {
  return { divisor, scale, remainder: 0, fractionDigits: -1, digitsLeft: multipleDigitsMax };
}

/** Two become one up to this divisor: products of what finds their remainder are then whole numbers that a double holds. */
const commonDivisorMax = 1e6;

/** The multiples that are both, whose digits are the same; null where that is no single state. */
export function commonMultiple(one: Multiple, other: Multiple): Multiple | null {
  const { divisor: common, factor } = bezout(one.divisor, other.divisor);
  const divisor = (one.divisor / common) * other.divisor;
  if (!isInStep(one, other) || divisor > commonDivisorMax) return null;
  const apart = (other.remainder - one.remainder) / common;
  if (!Number.isInteger(apart)) return null;
  // The Chinese remainder theorem: so many steps of the one lead to a number that the other allows too.
  const stepCount = modulo(
    modulo(apart, other.divisor) * modulo(factor, other.divisor),
    other.divisor / common,
  );
  return { ...one, divisor, remainder: modulo(one.remainder + one.divisor * stepCount, divisor) };
}

/** Whether whatever makes the one a multiple makes the other one too. */
export function isAlwaysMultiple(one: Multiple, other: Multiple): boolean {
  if (!isInStep(one, other) || one.divisor % other.divisor !== 0) return false;
  return one.remainder % other.divisor === other.remainder;
}

function isInStep(one: Multiple, other: Multiple): boolean {
  const { scale, fractionDigits, digitsLeft } = one;
  return scale === other.scale && fractionDigits === other.fractionDigits && digitsLeft === other.digitsLeft;
}

/** The greatest common divisor, and the factor by which `one` is that, but for multiples of `other` (Bézout). */
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

/** Whether the number read so far is a multiple. */
export function isMultiple({ divisor, scale, remainder, fractionDigits }: Multiple): boolean {
  return remainder % withoutTens(divisor, scale - Math.max(0, fractionDigits)) === 0;
}

/** The state after one more byte; null where no multiple goes on with it. */
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
 * The fewest digits that make a multiple of what was read; null where none can. Before the point these are digits before
 * it: a fraction would take as many.
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

/** The divisor without the factors that it shares with a power of ten: those the zeros to come make up for. */
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

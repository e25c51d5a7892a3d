// The digits of a decimal number that is a multiple of another, as an automaton: its state is the remainder of what was
// read. Signs and the JSON form of numbers are others' part.

/** A multiple of divisor / 10^scale, of which some digits have been read. */
export interface Multiple {
  readonly divisor: number;
  /** How many decimal places the divisor was shifted by to be whole. */
  readonly scale: number;
  /** Of the digits read, taken as a whole number. */
  readonly remainder: number;
  /** How many digits behind the point were read; -1 before the point. */
  readonly fractionDigits: number;
}

export const pointByte = ".".charCodeAt(0);
const zeroByte = "0".charCodeAt(0);

/** Divisors up to this keep every remainder, times ten, a whole number that a double holds. */
export const divisorMax = 2 ** 48;

/** Whether the number read so far is a multiple. */
export function isMultiple({ divisor, scale, remainder, fractionDigits }: Multiple): boolean {
  let rest = remainder;
  for (let digit = Math.max(0, fractionDigits); digit < scale; digit++) rest = (rest * 10) % divisor;
  return rest === 0;
}

/** The state after one more byte; null where no multiple goes on with it. */
export function digitOf(multiple: Multiple, byte: number): Multiple | null {
  const { divisor, scale, remainder, fractionDigits } = multiple;
  if (byte === pointByte) return fractionDigits < 0 ? { ...multiple, fractionDigits: 0 } : null;
  const digit = byte - zeroByte;
  if (digit < 0 || digit > 9) return null;
  if (fractionDigits >= scale) return digit === 0 && remainder === 0 ? multiple : null;
  return {
    divisor,
    scale,
    remainder: (remainder * 10 + digit) % divisor,
    fractionDigits: fractionDigits < 0 ? -1 : fractionDigits + 1,
  };
}

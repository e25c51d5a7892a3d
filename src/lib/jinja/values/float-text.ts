// Formats floats as Python does: with the shortest digits that parse to the same float, or with a given number of
// decimals. The latter are rounded half to even from the exact binary value.

/** Formats a float as Python's `repr` does: 1.0, 1e-05, 1e+16, inf, nan. */
export function floatText(value: number): string {
  if (Number.isNaN(value)) return "nan";
  if (!Number.isFinite(value)) return value > 0 ? "inf" : "-inf";
  const { sign, digits, exponent } = shortestDigits(value);
  if (exponent < -4 || exponent >= 16) {
    const fraction = digits.length > 1 ? `.${digits.slice(1)}` : "";
    return `${sign}${digits[0]}${fraction}e${exponentText(exponent)}`;
  }
  if (exponent < 0) return `${sign}0.${"0".repeat(-exponent - 1)}${digits}`;
  const whole = digits.slice(0, exponent + 1).padEnd(exponent + 1, "0");
  return `${sign}${whole}.${digits.slice(exponent + 1) || "0"}`;
}

/** Formats an exponent with a sign and at least two digits. */
export function exponentText(exponent: number): string {
  return `${exponent < 0 ? "-" : "+"}${String(Math.abs(exponent)).padStart(2, "0")}`;
}

function shortestDigits(value: number): {
  readonly sign: string;
  readonly digits: string;
  readonly exponent: number;
} {
  const sign = value < 0 || Object.is(value, -0) ? "-" : "";
  const [mantissa, exponent] = Math.abs(value).toExponential().split("e");
  return { sign, digits: mantissa.replace(".", ""), exponent: Number(exponent) };
}

/**
 * Formats a finite float with a number of decimals; ties round to the even digit. A negative number of decimals rounds
 * before the point.
 */
export function fixedText(value: number, decimals: number): string {
  const { mantissa, exponent } = binaryParts(Math.abs(value));
  // The value is mantissa * 2 ** exponent; the result is the rounded product of the value and 10 ** decimals.
  const tens = 10n ** BigInt(Math.abs(decimals));
  const numerator = mantissa * (decimals > 0 ? tens : 1n) * (exponent > 0 ? 1n << BigInt(exponent) : 1n);
  const denominator = (decimals < 0 ? tens : 1n) * (exponent < 0 ? 1n << BigInt(-exponent) : 1n);
  const rounded = roundedQuotient(numerator, denominator);
  const sign = value < 0 || Object.is(value, -0) ? "-" : "";
  if (decimals <= 0) return `${sign}${rounded * (decimals < 0 ? tens : 1n)}`;
  const digits = String(rounded).padStart(decimals + 1, "0");
  return `${sign}${digits.slice(0, -decimals)}.${digits.slice(-decimals)}`;
}

/** Divides two numbers of at least 0, and rounds half to even. */
export function roundedQuotient(numerator: bigint, denominator: bigint): bigint {
  const quotient = numerator / denominator;
  const twice = (numerator % denominator) * 2n;
  const goesUp = twice > denominator || (twice === denominator && quotient % 2n === 1n);
  return goesUp ? quotient + 1n : quotient;
}

function binaryParts(value: number): { readonly mantissa: bigint; readonly exponent: number } {
  const bits = new DataView(new ArrayBuffer(8));
  bits.setFloat64(0, value);
  const all = bits.getBigUint64(0);
  const biased = Number((all >> 52n) & 0x7ffn);
  const fraction = all & 0xfffffffffffffn;
  return biased === 0
    ? { mantissa: fraction, exponent: -1074 }
    : { mantissa: fraction | (1n << 52n), exponent: biased - 1075 };
}

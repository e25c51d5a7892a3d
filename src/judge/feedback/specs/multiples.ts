// Decides whether one number is a multiple of another, by their decimal forms. For example, 0.0075 is a multiple of
// 0.0001, although dividing the doubles leaves a remainder.

/**
 * True if `value` is a multiple of `step`.
 *
 * @param step number greater than 0
 */
export function isMultipleOf(value: number, step: number): boolean {
  const [digits, exponent] = decimalsOf(value);
  const [stepDigits, stepExponent] = decimalsOf(step);
  const least = Math.min(exponent, stepExponent);
  return scaled(digits, exponent - least) % scaled(stepDigits, stepExponent - least) === 0n;
}

/** Returns an integer and a power of ten. Their product is the shortest decimal form of the double. */
function decimalsOf(value: number): readonly [digits: bigint, exponent: number] {
  const [mantissa, power] = value.toExponential().split("e");
  const [whole, fraction = ""] = mantissa.split(".");
  return [BigInt(whole + fraction), Number(power) - fraction.length];
}

function scaled(digits: bigint, power: number): bigint {
  return digits * 10n ** BigInt(power);
}

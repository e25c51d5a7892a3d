// Scales vectors to length 1. The dot product of such vectors is the cosine of the angle between them.

/** Minimum divisor, so that a zero vector is not divided by zero. */
const lengthMin = 1e-12;

/**
 * Returns a vector of length 1 in the same direction.
 *
 * @param values not modified
 */
export function unitVector(values: Float32Array): Float32Array {
  // `reduce` adds in double precision; in single precision, a sum of thousands of squares would lose the last digits.
  const length = Math.sqrt(values.reduce((sum, value) => sum + value * value, 0));
  const scale = 1 / Math.max(length, lengthMin);
  return values.map((value) => value * scale);
}

// Vectors of length 1, whose dot product is the cosine of the angle between them.

/** Minimum divisor, which prevents division by zero for a zero vector. */
const lengthMin = 1e-12;

/**
 * Returns a vector of length 1 in the same direction.
 *
 * @param values not modified
 */
export function unitVector(values: Float32Array): Float32Array {
  // Sums in double precision: in single precision, a sum of thousands of squares would lose the last digits.
  const length = Math.sqrt(values.reduce((sum, value) => sum + value * value, 0));
  const scale = 1 / Math.max(length, lengthMin);
  return values.map((value) => value * scale);
}

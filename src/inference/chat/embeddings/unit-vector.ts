// Vectors of length 1, whose product is the cosine of the angle between them.

/** Keeps a vector of which nothing is left from being divided by nothing. */
const leastLength = 1e-12;

/**
 * @param values not modified
 * @returns the same direction
 */
export function unitVector(values: Float32Array): Float32Array {
  // In double precision: of thousands of squares the last digits of a float would not hold.
  const length = Math.sqrt(values.reduce((sum, value) => sum + value * value, 0));
  const scale = 1 / Math.max(length, leastLength);
  return values.map((value) => value * scale);
}

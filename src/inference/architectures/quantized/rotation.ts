// The rotation of what is rounded to 8 bits: a Hadamard matrix over blocks of the last axis spreads each large number over its
// block. Models have a few channels far above the others, by which a row's step would be too coarse for all else. It is its
// own inverse, and x Wᵀ = (x H)(W H)ᵀ. As in QuaRot (Ashkboos et al., 2024).

/** Numbers that are rotated together, at most: more would take longer and gain little. */
const rotationSizeMax = 64;

/** How many numbers of rows of length K are rotated together; a power of two. */
export function rotationSize(K: number): number {
  let size = 1;
  while (size < rotationSizeMax && K % (2 * size) === 0) size *= 2;
  return size;
}

/** By their sizes. A model is rotated at each of its products: made there, they took half of the time in which it loads. */
const matrices = new Map<number, readonly number[]>();

/** The matrix, [size, size]; symmetric, and the same array at every call. */
export function rotationMatrix(size: number): readonly number[] {
  const known = matrices.get(size);
  if (known !== undefined) return known;
  const identity = new Float32Array(size * size);
  for (let row = 0; row < size; row++) identity[row * size + row] = 1;
  const matrix = [...rotated(identity, size)];
  matrices.set(size, matrix);
  return matrix;
}

/** A copy of rows of length K of which each block is rotated. */
export function rotated(values: Float32Array, K: number): Float32Array {
  const size = rotationSize(K);
  const result = values.slice();
  const norm = 1 / Math.sqrt(size);
  for (let start = 0; start < result.length; start += size) {
    const end = start + size;
    for (let half = 1; half < size; half *= 2) {
      for (let pairs = start; pairs < end; pairs += 2 * half) {
        for (let index = pairs; index < pairs + half; index++) {
          const left = result[index];
          const right = result[index + half];
          result[index] = left + right;
          result[index + half] = left - right;
        }
      }
    }
    for (let index = start; index < end; index++) result[index] *= norm;
  }
  return result;
}

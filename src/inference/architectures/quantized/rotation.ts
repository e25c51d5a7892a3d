// Rotates values before they are rounded to 8 bits, as in QuaRot (Ashkboos et al., 2024): multiplies blocks of the last
// axis by a Hadamard matrix. The rotation spreads each large number over its block; otherwise a few channels with far
// larger numbers would make the rounding of a row's other channels too coarse. The rotation is its own inverse, so x Wᵀ
// = (x H)(W H)ᵀ.

/** Maximum size of a rotated block. Larger blocks take longer, and improve the accuracy little. */
const rotationSizeMax = 64;

/** Returns the size of the blocks in which rows of length K are rotated: a power of two that divides K. */
export function rotationSize(K: number): number {
  let size = 1;
  while (size < rotationSizeMax && K % (2 * size) === 0) size *= 2;
  return size;
}

/**
 * Rotation matrices by size, cached because every product of a model uses one. Creating them each time took half of a
 * model's load time.
 */
const matrices = new Map<number, readonly number[]>();

/** Returns the symmetric rotation matrix [size, size]. Every call returns the same array. */
export function rotationMatrix(size: number): readonly number[] {
  const known = matrices.get(size);
  if (known !== undefined) return known;
  const identity = new Float32Array(size * size);
  for (let row = 0; row < size; row++) identity[row * size + row] = 1;
  const matrix = [...rotated(identity, size)];
  matrices.set(size, matrix);
  return matrix;
}

/** Returns a copy of rows of length K, with each block of a row rotated. */
export function rotated(values: Float32Array, K: number): Float32Array {
  const size = rotationSize(K);
  const result = values.slice();
  const norm = 1 / Math.sqrt(size);
  for (let half = 1; half < size; half *= 2) {
    for (let pairs = 0; pairs < result.length; pairs += 2 * half) {
      for (let index = pairs; index < pairs + half; index++) {
        const left = result[index];
        const right = result[index + half];
        result[index] = left + right;
        result[index + half] = left - right;
      }
    }
  }
  for (let index = 0; index < result.length; index++) result[index] *= norm;
  return result;
}

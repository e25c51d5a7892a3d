// Rotates values before they are rounded to 8 bits, as in QuaRot (Ashkboos et al., 2024): multiplies blocks of the last
// axis by a Hadamard matrix. The rotation spreads each large number over its block; otherwise a few channels with far
// larger numbers would make a row's steps too coarse for the other channels. The rotation is its own inverse, so x Wᵀ =
// (x H)(W H)ᵀ.

/** Maximum size of a rotated block. Larger blocks take longer, and improve the accuracy little. */
const rotationSizeMax = 64;

/** Returns the size of the blocks that are rotated in rows of length K; a power of two that divides K. */
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
  // Two of the log2(size) steps are computed at a time, which halves the memory accesses. If the number of steps is
  // odd, a single step comes first.
  const isOdd = Math.log2(size) % 2 === 1;
  if (isOdd) addPairs(result);
  for (let half = isOdd ? 2 : 1; half < size; half *= 4) addFours(result, half);
  const norm = 1 / Math.sqrt(size);
  for (let index = 0; index < result.length; index++) result[index] *= norm;
  return result;
}

/** Replaces neighbors by their sum and their difference. */
function addPairs(values: Float32Array): void {
  for (let index = 0; index < values.length; index += 2) {
    const left = values[index];
    const right = values[index + 1];
    values[index] = left + right;
    values[index + 1] = left - right;
  }
}

/**
 * Replaces numbers that are `half` apart by their sum and difference, then numbers that are twice as far apart. Sums of
 * the first step are rounded to float32, as if they were stored in between.
 */
function addFours(values: Float32Array, half: number): void {
  for (let fours = 0; fours < values.length; fours += 4 * half) {
    for (let index = fours; index < fours + half; index++) {
      const first = values[index];
      const second = values[index + half];
      const third = values[index + 2 * half];
      const fourth = values[index + 3 * half];
      const sum = Math.fround(first + second);
      const difference = Math.fround(first - second);
      const laterSum = Math.fround(third + fourth);
      const laterDifference = Math.fround(third - fourth);
      values[index] = sum + laterSum;
      values[index + half] = difference + laterDifference;
      values[index + 2 * half] = sum - laterSum;
      values[index + 3 * half] = difference - laterDifference;
    }
  }
}

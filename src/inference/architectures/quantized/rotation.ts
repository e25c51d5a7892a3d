// Rotates values before they are rounded to 8 bits, as in QuaRot (Ashkboos et al., 2024): multiplies blocks of the last
// axis by a Hadamard matrix. The rotation spreads each large number over its block; otherwise a few channels with far
// larger numbers would make the rounding of a row's other channels too coarse. The rotation is its own inverse, so x Wᵀ
// = (x H)(W H)ᵀ.

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
  const norm = 1 / Math.sqrt(size);
  if (size === 64) {
    addEights(result, 1, 1);
    addEights(result, 8, norm);
    return result;
  }
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

const { fround } = Math;

/**
 * Computes three steps of a rotation at once, in less than half of the time of separate steps. The first step replaces
 * numbers that are `distance` apart by their sum and difference; later steps double the distance. Results of each step
 * are rounded to float32, as separate steps would do.
 *
 * @param norm factor by which the results are multiplied
 */
function addEights(values: Float32Array, distance: number, norm: number): void {
  for (let eights = 0; eights < values.length; eights += 8 * distance) {
    for (let at = eights; at < eights + distance; at++) {
      const x0 = values[at];
      const x1 = values[at + distance];
      const x2 = values[at + 2 * distance];
      const x3 = values[at + 3 * distance];
      const x4 = values[at + 4 * distance];
      const x5 = values[at + 5 * distance];
      const x6 = values[at + 6 * distance];
      const x7 = values[at + 7 * distance];
      const y0 = fround(x0 + x1);
      const y1 = fround(x0 - x1);
      const y2 = fround(x2 + x3);
      const y3 = fround(x2 - x3);
      const y4 = fround(x4 + x5);
      const y5 = fround(x4 - x5);
      const y6 = fround(x6 + x7);
      const y7 = fround(x6 - x7);
      const z0 = fround(y0 + y2);
      const z1 = fround(y1 + y3);
      const z2 = fround(y0 - y2);
      const z3 = fround(y1 - y3);
      const z4 = fround(y4 + y6);
      const z5 = fround(y5 + y7);
      const z6 = fround(y4 - y6);
      const z7 = fround(y5 - y7);
      values[at] = fround(z0 + z4) * norm;
      values[at + distance] = fround(z1 + z5) * norm;
      values[at + 2 * distance] = fround(z2 + z6) * norm;
      values[at + 3 * distance] = fround(z3 + z7) * norm;
      values[at + 4 * distance] = fround(z0 - z4) * norm;
      values[at + 5 * distance] = fround(z1 - z5) * norm;
      values[at + 6 * distance] = fround(z2 - z6) * norm;
      values[at + 7 * distance] = fround(z3 - z7) * norm;
    }
  }
}

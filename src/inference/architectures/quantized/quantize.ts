// Rounds weights to 8 and to 4 bits. `choose-forms` decides which weights are rounded.
import { rotated } from "./rotation.ts";
import { blockSize } from "./weight-forms.ts";

/** A weight [N, K] in 8 bits: each value is its code times the scale of its row. */
export interface Int8Rows {
  /** Codes, [N, K]. */
  readonly rows: Int8Array;
  /** Scale of each row, [N]. */
  readonly scales: Float32Array;
}

/** Scales below this number may be denormal and therefore imprecise. */
const tinyScale = 2 ** -120;

/**
 * Rounds the values of each row to 127 positive and 127 negative steps; the last step is the row's largest magnitude.
 */
export function toInt8(values: Float32Array, [N, K]: readonly number[]): Int8Rows {
  const rows = new Int8Array(N * K);
  const scales = new Float32Array(N);
  for (let row = 0; row < N; row++) {
    const start = row * K;
    let largest = 0;
    for (let k = 0; k < K; k++) largest = Math.max(largest, Math.abs(values[start + k]));
    const scale = Math.fround(largest / 127);
    scales[row] = scale;
    if (scale < tinyScale) {
      for (let k = 0; k < K; k++) rows[start + k] = scale === 0 ? 0 : int8Code(values[start + k], scale);
    } else {
      // The quotient exceeds 127 by at most the rounding of the scale, so the code needs no clamping, which would take
      // a third of the time. `Math.floor(x + 0.5)` takes a third of the time of `Math.round`.
      for (let k = start; k < start + K; k++) rows[k] = Math.floor(values[k] / scale + 0.5);
    }
  }
  return { rows, scales };
}

/**
 * Returns the nearest of 127 positive and 127 negative steps. Clamps the result: the scale of a tiny magnitude may
 * underflow in float32, which would make the quotient exceed the range.
 */
function int8Code(value: number, scale: number): number {
  return Math.max(-127, Math.min(127, Math.floor(value / scale + 0.5)));
}

/** Rotates rows of length K ({@link rotated}), and rounds them as {@link toInt8} does. */
export function roundRotated(values: Float32Array, K: number): Int8Rows {
  return toInt8(rotated(values, K), [values.length / K, K]);
}

/**
 * Writes rows of codes [count, K] into the columns of a matrix [K, N].
 *
 * @param from column of the first row
 */
export function writeColumns(
  rows: Int8Array,
  K: number,
  columns: Int8Array,
  { from, N }: { readonly from: number; readonly N: number },
): void {
  const count = rows.length / K;
  for (let row = 0; row < count; row++)
    for (let k = 0; k < K; k++) columns[k * N + from + row] = rows[row * K + k];
}

/** A weight [N, K] in 4 bits: each value is (code − 8) · scale + offset, with the scale and offset of its block. */
export interface Int4Blocks {
  /** Codes [N, K/32, 16]. Each byte holds two codes, the first in its lower half. */
  readonly codes: Uint8Array;
  /** Scale of each block, [N, K/32]. */
  readonly scales: Float32Array;
  /** Offset of each block, [N, K/32]. */
  readonly offsets: Float32Array;
}

/** Returns the values [N, K] of 4-bit blocks. Absent offsets count as 0. */
export function blockValues({
  codes,
  scales,
  offsets,
}: Omit<Int4Blocks, "offsets"> & { readonly offsets: Float32Array | null }): Float32Array {
  const values = new Float32Array(2 * codes.length);
  for (let block = 0; block < scales.length; block++) {
    const scale = scales[block];
    const offset = offsets === null ? 0 : offsets[block];
    for (let pair = (block * blockSize) / 2; pair < ((block + 1) * blockSize) / 2; pair++) {
      values[2 * pair] = ((codes[pair] & 15) - 8) * scale + offset;
      values[2 * pair + 1] = ((codes[pair] >> 4) - 8) * scale + offset;
    }
  }
  return values;
}

/**
 * Maximum number of iterations. Each one fits a block's scale and offset to the codes, then the codes to the new scale
 * and offset. More iterations improve almost nothing.
 */
const fitCount = 4;

/** Scale and offset of a block: the value of a code is (code − 8) · scale + offset. */
interface BlockSteps {
  readonly scale: number;
  readonly offset: number;
}

/**
 * Rounds each block of 32 values to 16 steps. Chooses the block's scale and offset at a local minimum of the squared
 * error: starts with equal steps from the smallest to the largest value, and iterates while the error decreases.
 */
export function toInt4(values: Float32Array, shape: readonly number[]): Int4Blocks {
  const [N, K] = shape;
  const blockCount = (N * K) / blockSize;
  const codes = new Uint8Array((N * K) / 2);
  const scales = new Float32Array(blockCount);
  const offsets = new Float32Array(blockCount);
  // All blocks use the same two arrays, because new arrays for each block take most of the time.
  let [best, next] = [new Uint8Array(blockSize), new Uint8Array(blockSize)];
  for (let block = 0; block < blockCount; block++) {
    const start = block * blockSize;
    let steps = equalSteps(values, start);
    writeCodes(values, start, best, steps);
    let error = squaredError(values, start, best, steps);
    for (let turn = 0; turn < fitCount; turn++) {
      const fitted = leastSquares(values, start, best);
      writeCodes(values, start, next, fitted);
      const fittedError = squaredError(values, start, next, fitted);
      if (!(fittedError < error)) break;
      [best, next] = [next, best];
      steps = fitted;
      error = fittedError;
    }
    scales[block] = steps.scale;
    offsets[block] = steps.offset;
    for (let pair = 0; pair < blockSize / 2; pair++)
      codes[start / 2 + pair] = best[2 * pair] | (best[2 * pair + 1] << 4);
  }
  return { codes, scales, offsets };
}

function equalSteps(values: Float32Array, start: number): BlockSteps {
  let [least, largest] = [Infinity, -Infinity];
  for (let index = start; index < start + blockSize; index++) {
    least = Math.min(least, values[index]);
    largest = Math.max(largest, values[index]);
  }
  const scale = (largest - least) / 15;
  return { scale: Math.fround(scale), offset: Math.fround(least + 8 * scale) };
}

/** Writes the codes of the block that begins at `start`. */
function writeCodes(
  values: Float32Array,
  start: number,
  codes: Uint8Array,
  { scale, offset }: BlockSteps,
): void {
  if (scale === 0) {
    codes.fill(8);
    return;
  }
  for (let index = 0; index < blockSize; index++) {
    const code = Math.round((values[start + index] - offset) / scale) + 8;
    // Comparisons take less time than `Math.min` and `Math.max`.
    codes[index] = code < 0 ? 0 : code > 15 ? 15 : code;
  }
}

function squaredError(
  values: Float32Array,
  start: number,
  codes: Uint8Array,
  { scale, offset }: BlockSteps,
): number {
  let error = 0;
  for (let index = 0; index < blockSize; index++) {
    const difference = (codes[index] - 8) * scale + offset - values[start + index];
    error += difference * difference;
  }
  return error;
}

/**
 * Returns the scale and offset of the line through the points (code − 8, value) with the least squared error, rounded to
 * float32.
 */
function leastSquares(values: Float32Array, start: number, codes: Uint8Array): BlockSteps {
  let [sumCode, sumValue, sumSquare, sumProduct] = [0, 0, 0, 0];
  for (let index = 0; index < blockSize; index++) {
    const [code, value] = [codes[index] - 8, values[start + index]];
    sumCode += code;
    sumValue += value;
    sumSquare += code * code;
    sumProduct += code * value;
  }
  const spread = blockSize * sumSquare - sumCode * sumCode;
  if (spread === 0) return { scale: 0, offset: Math.fround(sumValue / blockSize) };
  const scale = (blockSize * sumProduct - sumCode * sumValue) / spread;
  return { scale: Math.fround(scale), offset: Math.fround((sumValue - scale * sumCode) / blockSize) };
}

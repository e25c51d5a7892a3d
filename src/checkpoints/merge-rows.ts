// Rows of a base model's projection with an adapter in them: W + scale · B A, summed in double precision, in the base's own
// type. Reads no more of the files than the rows need.
import { assert } from "../domain/assert.ts";
import { readFloats, rowsOf, type PlainType, type StoredTensor } from "../model-files/stored-tensor.ts";
import { storedBytes } from "../model-files/write-safetensors.ts";

export interface RowsToMerge {
  /** W [outputSize, inputSize]. */
  readonly weight: StoredTensor<PlainType>;
  /** A [rank, inputSize]. */
  readonly a: StoredTensor;
  /** B [outputSize, rank]. */
  readonly b: StoredTensor;
  readonly scale: number;
  /** Index of the first row of W. */
  readonly from: number;
  readonly count: number;
}

/**
 * Merges rows.
 *
 * @returns their bytes in the type of W, which has no fewer rows
 * @throws ServiceError `invalid` when a file is not what its header says
 */
export function mergeRows({ weight, a, b, scale, from, count }: RowsToMerge): Uint8Array {
  const { type } = weight;
  assert(type !== "I64", "weights are floating-point numbers");
  const [rank, inputSize] = a.shape;
  const rows = readFloats(rowsOf(weight, from, count));
  const a_RD = readFloats(a);
  const b_OR = readFloats(rowsOf(b, from, count));
  const sums = new Float64Array(inputSize);
  for (let row = 0; row < count; row++) {
    sums.fill(0);
    for (let index = 0; index < rank; index++) {
      const factor = b_OR[row * rank + index];
      const start = index * inputSize;
      for (let column = 0; column < inputSize; column++) sums[column] += factor * a_RD[start + column];
    }
    const start = row * inputSize;
    for (let column = 0; column < inputSize; column++) rows[start + column] += scale * sums[column];
  }
  return storedBytes(rows, type);
}

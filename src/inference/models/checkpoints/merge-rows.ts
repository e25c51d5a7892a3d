// Reads rows of a base model's weight for an exported model, either unchanged or merged with an adapter: W + scale · B
// A, summed in double precision. Only the needed ranges of the files are read.
import { assert } from "../../../base/domain/assert.ts";
import { toStoredOrder } from "../../../lib/model-files/gguf/writing/stored-order.ts";
import {
  encodeValues,
  exactTypeOf,
  type EncodedType,
} from "../../../lib/model-files/gguf/writing/written-types.ts";
import {
  readFloats,
  rowsOf,
  type Rearrangement,
  type StoredTensor,
} from "../../../lib/model-files/stored-tensor.ts";
import type { WrittenType } from "../../../lib/model-files/write-safetensors.ts";

export interface RowsToMerge {
  /** Weight W [outputSize, inputSize]; a vector counts as one row. */
  readonly weight: StoredTensor;
  /** Adapter to merge into the rows; null to leave them unchanged. */
  readonly adapter: MatricesToMerge | null;
  /** How the exported file stores the rows. */
  readonly written: WrittenRows;
  /** Index of the first row of W. */
  readonly from: number;
  readonly count: number;
}

/** How an exported file stores the rows of a weight. */
export interface WrittenRows {
  readonly type: EncodedType;
  /** Change of the order or of the values, which readers undo; absent if there is none. */
  readonly rearranged?: Rearrangement;
}

export interface MatricesToMerge {
  /** Matrix A, [rank, inputSize]. */
  readonly a: StoredTensor;
  /** Matrix B, [outputSize, rank]. */
  readonly b: StoredTensor;
  readonly scale: number;
}

/**
 * Returns the type of a weight in a folder with safetensors. This is the weight's own type or, for a quantized weight,
 * one that represents all dequantized values exactly.
 */
export function exportedType({ name, type }: StoredTensor): WrittenType {
  assert(type !== "I64", `${name} are floating-point numbers`);
  return exactTypeOf(type);
}

/**
 * Reads rows, and merges the adapter into them if there is one.
 *
 * @returns the rows' bytes, in the form that `written` describes
 * @throws ServiceError `invalid` when a file does not match its header
 */
export function mergeRows({ weight, adapter, written, from, count }: RowsToMerge): Uint8Array {
  const rowsIn = (tensor: StoredTensor): StoredTensor =>
    tensor.shape.length === 1 ? tensor : rowsOf(tensor, from, count);
  const rows = readFloats(rowsIn(weight));
  if (adapter !== null) addLoraProduct(rows, adapter, { from, count });
  const { type, rearranged } = written;
  if (rearranged === undefined) return encodeValues(rows, type);
  return encodeValues(toStoredOrder(rows, rowsIn({ ...weight, rearranged })), type);
}

/** Adds the adapter's product to `rows` [count, inputSize], in place. */
function addLoraProduct(
  rows: Float32Array,
  { a, b, scale }: MatricesToMerge,
  { from, count }: Pick<RowsToMerge, "from" | "count">,
): void {
  const [rank, inputSize] = a.shape;
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
}

// Converts large tables of rows a few rows at a time. The embedding that Gemma 4 has for each layer is larger than any
// other weight, and larger than the largest buffer.
import type { DataType } from "../../../lib/graph/graph.ts";
import type { DataArrays } from "../../../lib/graph/tensor.ts";
import { rowsOf, rowsReadTogether, type StoredTensor } from "../../../lib/model-files/stored-tensor.ts";
import type { CacheEntry } from "../weights-cache.ts";

/** Default for the maximum number of values in memory at a time. */
export const pieceValuesMax: number = 2 ** 26;

/** Converts a tensor, or some rows of it, to the arrays of its parts. */
type Convert = (tensor: StoredTensor) => readonly DataArrays[DataType][];

/**
 * Returns the functions that make a cache entry: in pieces if the tensor is a large table whose rows are independent.
 *
 * @param valuesMax number of values above which a table is converted in pieces
 */
export function madeFrom(
  tensor: StoredTensor,
  convert: Convert,
  valuesMax: number,
): Pick<CacheEntry, "make" | "pieces"> {
  const make = (): readonly DataArrays[DataType][] => convert(tensor);
  const { shape, pieces } = tensor;
  const [count, width] = shape;
  const isTable = shape.length === 2 && pieces === undefined && rowsReadTogether(tensor) === 1;
  if (!isTable || count * width <= valuesMax) return { make };
  return {
    make,
    pieces: function* () {
      const rows = Math.max(1, Math.floor(valuesMax / width));
      for (let from = 0; from < count; from += rows)
        yield convert(rowsOf(tensor, from, Math.min(rows, count - from)));
    },
  };
}

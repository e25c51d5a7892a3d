// Converts large tables a few rows at a time, because Gemma 4's additional embedding exceeds the largest buffer.
import type { DataType } from "../../../lib/graph/graph.ts";
import type { DataArrays } from "../../../lib/graph/tensor.ts";
import { rowsOf, rowsReadTogether, type StoredTensor } from "../../../lib/model-files/stored-tensor.ts";
import type { CacheEntry } from "../weights-cache.ts";

/** Default for the maximum number of values in memory at a time. */
export const pieceValuesMax: number = 2 ** 26;

/** Converts a stored tensor, or some of its rows, to arrays: one for each of the tensors in the cache file. */
type Convert = (tensor: StoredTensor) => readonly DataArrays[DataType][];

/**
 * Returns the functions that compute a cache entry. A large table whose rows are independent is computed in pieces.
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

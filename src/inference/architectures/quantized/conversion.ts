// Converts stored weights to the tensors of a cache file, a few rows at a time. A conversion is plain data, so that
// threads can receive it.
import { unreachable } from "../../../base/domain/assert.ts";
import type { DataType } from "../../../lib/graph/graph.ts";
import type { DataArrays } from "../../../lib/graph/tensor.ts";
import {
  readFloats,
  rowsOf,
  rowsReadTogether,
  type StoredTensor,
} from "../../../lib/model-files/stored-tensor.ts";
import { turnedRows } from "../../../lib/vectors/vectors.ts";
import { quantizedParts, quantizedStack } from "./quantized-parts.ts";
import { wholeUnit } from "./rounded-codes.ts";
import type { WeightForm, WeightUse } from "./weight-forms.ts";

/** Default for the maximum number of values that are converted at a time, if rows are independent. */
export const pieceValuesMax: number = 2 ** 24;

/** A weight as it is stored, and the form to which it is converted. */
export interface Conversion {
  readonly tensor: StoredTensor;
  readonly form: WeightForm;
  readonly use: WeightUse;
  /** True if the model's files hold the weight minus one. */
  readonly isOffset: boolean;
}

/** Some rows of a weight. */
export interface RowRange {
  readonly from: number;
  readonly count: number;
}

/**
 * Divides a weight into ranges of rows that can be converted separately; [null] stands for the whole weight.
 *
 * @param valuesMax maximum number of values of a range, if rows need not be read together
 */
export function rangesOf({ tensor, use }: Conversion, valuesMax: number): readonly (RowRange | null)[] {
  const [N, K] = tensor.shape;
  if (tensor.shape.length !== 2 || use.isStack || N * K <= valuesMax) return [null];
  const unit = wholeUnit(rowsReadTogether(tensor), turnedRows);
  const count = unit * Math.max(1, Math.floor(valuesMax / (K * unit)));
  const starts = Array.from({ length: Math.ceil(N / count) }, (_, index) => index * count);
  return starts.length === 1 ? [null] : starts.map((from) => ({ from, count: Math.min(count, N - from) }));
}

/**
 * Returns the data of a weight's tensors, in the order of `keptParts`; with a range, only those of its rows. The next
 * call may overwrite arrays with 8-bit codes.
 */
export function convertWeight(
  { tensor: whole, form, use, isOffset }: Conversion,
  range: RowRange | null,
): readonly DataArrays[DataType][] {
  const tensor = range === null ? whole : rowsOf(whole, range.from, range.count);
  switch (form) {
    case "float32":
      return [floatsOf({ tensor, isOffset })];
    case "int8":
    case "uint8":
    case "int4":
    case "int4-offset":
      return use.isStack ? quantizedStack(tensor, form, use) : quantizedParts(tensor, form, use);
    default:
      return unreachable(form);
  }
}

/** Returns the values of a weight in float32. */
export function floatsOf({ tensor, isOffset }: Pick<Conversion, "tensor" | "isOffset">): Float32Array {
  const values = readFloats(tensor);
  return isOffset ? values.map((value) => value + 1) : values;
}

/**
 * Tensors with their data: what a program is fed and what it returns.
 *
 * Data is row-major. Nothing here copies; a tensor borrows the array that it is made of.
 */
import { assert } from "../../base/domain/assert.ts";
import type { DataType } from "./graph.ts";

/** The array that holds each type; booleans are bytes 0 and 1. */
export interface DataArrays {
  readonly float32: Float32Array;
  readonly int64: BigInt64Array;
  readonly int32: Int32Array;
  readonly int8: Int8Array;
  readonly uint8: Uint8Array;
  readonly bool: Uint8Array;
}

export type Tensor<D extends DataType = DataType> = {
  readonly [P in D]: {
    readonly dtype: P;
    readonly dims: readonly number[];
    readonly data: DataArrays[P];
  };
}[D];

/** Wraps float32 data; its length must be the product of `dims`. */
export function float32Tensor(dims: readonly number[], data: Float32Array): Tensor<"float32"> {
  requireLength(dims, data.length);
  return { dtype: "float32", dims, data };
}

/** Wraps int64 data, or converts numbers to it; the length must be the product of `dims`. */
export function int64Tensor(
  dims: readonly number[],
  data: BigInt64Array | readonly number[],
): Tensor<"int64"> {
  requireLength(dims, data.length);
  const array = data instanceof BigInt64Array ? data : BigInt64Array.from(data, BigInt);
  return { dtype: "int64", dims, data: array };
}

/** The data of a tensor that must be float32. */
export function float32Data(tensor: Tensor | undefined): Float32Array {
  assert(tensor?.dtype === "float32", `a float32 tensor, got ${tensor?.dtype}`);
  return tensor.data;
}

/** The number of elements. */
export function elementCount(dims: readonly number[]): number {
  return dims.reduce((product, size) => product * size, 1);
}

function requireLength(dims: readonly number[], length: number): void {
  assert(elementCount(dims) === length, `[${dims.join(", ")}] does not hold ${length} elements`);
}

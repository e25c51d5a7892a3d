// Where the data of a parameter lies: in memory or in a file. Nothing here reads it.
import type { DataType, TensorType } from "./graph.ts";
import type { DataArrays } from "./tensor.ts";

/** A parameter's bytes, little-endian and row-major: in memory, or in a file from `offset` (bytes) on. */
export type WeightSource<D extends DataType = DataType> =
  | { readonly data: DataArrays[D] }
  | { readonly file: string; readonly offset: number };

const bytesPerElement = { float32: 4, int32: 4, int64: 8, bool: 1 } as const;

/** The bytes that a tensor takes; its shape must have no symbols. */
export function byteLengthOf({ dtype, shape }: TensorType): number {
  return shape.reduce<number>((product, size) => product * Number(size), bytesPerElement[dtype]);
}

/** A view, not a copy. */
export function bytesOf(data: DataArrays[DataType]): Uint8Array {
  return new Uint8Array(data.buffer, data.byteOffset, data.byteLength);
}

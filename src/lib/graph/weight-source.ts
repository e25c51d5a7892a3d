// Where the data of a parameter lies: in memory or in a file. Nothing here reads it.
import type { DataType, TensorType } from "./graph.ts";
import type { DataArrays } from "./tensor.ts";

/** A parameter's bytes, little-endian and row-major: in memory, or in a file from `offset` (bytes) on. */
export type WeightSource<D extends DataType = DataType> =
  | { readonly data: DataArrays[D] }
  | {
      readonly file: string;
      readonly offset: number;
      /** What else of the graph's weights lies in that file: any parameter's, not this one's alone. */
      readonly arranged?: readonly ArrangedWeight[];
    };

/** A copy of a weight in the order in which a kernel of the runtime reads it. */
export interface ArrangedWeight {
  /** By which the runtime knows it: the kernel and a hash of the bytes. */
  readonly key: string;
  /** Where its bytes lie in the file. */
  readonly pieces: readonly FilePiece[];
}

export interface FilePiece {
  readonly offset: number;
  readonly byteLength: number;
}

const bytesPerElement = { float32: 4, int32: 4, int64: 8, int8: 1, uint8: 1, bool: 1 } as const;

/** The bytes that a tensor takes; its shape must have no symbols. */
export function byteLengthOf({ dtype, shape }: TensorType): number {
  return shape.reduce<number>((product, size) => product * Number(size), bytesPerElement[dtype]);
}

/** A view, not a copy. */
export function bytesOf(data: DataArrays[DataType]): Uint8Array {
  return new Uint8Array(data.buffer, data.byteOffset, data.byteLength);
}

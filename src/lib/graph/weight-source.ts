// The location of a parameter's data: in memory or in a file. This module reads no data.
import type { DataType, TensorType } from "./graph.ts";
import type { DataArrays } from "./tensor.ts";

/**
 * Location of a parameter's bytes, little-endian and row-major: in memory, or in a file starting at `offset` (bytes).
 */
export type WeightSource<D extends DataType = DataType> =
  | { readonly data: DataArrays[D] }
  | {
      readonly file: string;
      readonly offset: number;
      /** Prepacked copies, in the same file, of this parameter or of any other weights of the graph. */
      readonly arranged?: readonly ArrangedWeight[];
    };

/** A copy of a weight, packed in the order in which a kernel of the runtime reads it. */
export interface ArrangedWeight {
  /** The runtime's key of the copy: the kernel and a hash of the bytes. */
  readonly key: string;
  /** Location of the copy's bytes in the file. */
  readonly pieces: readonly FilePiece[];
}

export interface FilePiece {
  readonly offset: number;
  readonly byteLength: number;
}

const bytesPerElement = { float32: 4, int32: 4, int64: 8, int8: 1, uint8: 1, bool: 1 } as const;

/** Returns the number of bytes of a tensor; its shape must have no symbols. */
export function byteLengthOf({ dtype, shape }: TensorType): number {
  return shape.reduce<number>((product, size) => product * Number(size), bytesPerElement[dtype]);
}

/** Returns the bytes as a view, not a copy. */
export function bytesOf(data: DataArrays[DataType]): Uint8Array {
  return new Uint8Array(data.buffer, data.byteOffset, data.byteLength);
}

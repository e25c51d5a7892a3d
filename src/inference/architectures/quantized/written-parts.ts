// Writes the converted tensors of a weight, or of some of its rows, to their places in a cache file.
import type { DataType } from "../../../lib/graph/graph.ts";
import type { DataArrays } from "../../../lib/graph/tensor.ts";
import { bytesOf } from "../../../lib/graph/weight-source.ts";
import { writeWhole } from "../../../lib/model-files/write-safetensors.ts";
import type { RowRange } from "./conversion.ts";

/** A tensor in a cache file. */
export interface PlacedPart {
  readonly shape: readonly number[];
  /** True if the rows of the weight are the columns of the tensor. */
  readonly isTransposed?: boolean;
  /** Offset in the file, in bytes. */
  readonly offset: number;
}

interface PartData {
  /** Rows of the weight to which the data belongs; null for all. */
  readonly range: RowRange | null;
  /** Data of each part, in order. */
  readonly data: readonly DataArrays[DataType][];
}

export function writeParts(
  descriptor: number,
  parts: readonly PlacedPart[],
  { range, data }: PartData,
): void {
  for (const [index, { shape, isTransposed = false, offset }] of parts.entries()) {
    const bytes = bytesOf(data[index]);
    if (range === null) writeWhole(descriptor, bytes, offset);
    else if (isTransposed) {
      const width = (bytes.length / data[index].length) * shape[1];
      const partWidth = bytes.length / shape[0];
      const start = offset + (width * range.from) / shape[1];
      for (let row = 0; row < shape[0]; row++)
        writeWhole(descriptor, bytes.subarray(row * partWidth, (row + 1) * partWidth), start + row * width);
    } else writeWhole(descriptor, bytes, offset + (bytes.length / range.count) * range.from);
  }
}

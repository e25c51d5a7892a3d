// Computes the tensors of a quantized weight from the tensor stored in a file. Copies the stored tensor's four-bit
// blocks if possible; otherwise rounds its values.
import { assert, present } from "../../../base/domain/assert.ts";
import type { DataType } from "../../../lib/graph/graph.ts";
import type { DataArrays } from "../../../lib/graph/tensor.ts";
import { hasFourBitBlocks, readFourBitBlocks } from "../../../lib/model-files/gguf/four-bit-blocks.ts";
import { matrixOf, readFloats, type StoredTensor } from "../../../lib/model-files/stored-tensor.ts";
import { blockValues, toInt4, type Int4Blocks } from "./quantize.ts";
import { roundedCodes, withRowsOf, type RowReader } from "./rounded-codes.ts";
import {
  blockSize,
  isCodes,
  promptCodes,
  type CodeType,
  type WeightForm,
  type WeightUse,
} from "./weight-forms.ts";

/** Four-bit blocks; null offsets count as 0. */
type BlockSource = Omit<Int4Blocks, "offsets"> & { readonly offsets: Float32Array | null };

interface CodeOptions {
  readonly form: CodeType;
  readonly use: WeightUse;
}

/**
 * Returns the data of all tensors of experts' weights [E, N, K], in the order of `keptParts`. Only one expert's values
 * are in memory at a time.
 */
export function quantizedStack(
  tensor: StoredTensor,
  form: Exclude<WeightForm, "float32">,
  use: WeightUse,
): readonly DataArrays[DataType][] {
  const [count] = tensor.shape;
  const first = quantizedParts(matrixOf(tensor, 0), form, use);
  const whole = first.map((part) => {
    const Kind = part.constructor as new (length: number) => typeof part; // Safe cast: the same kind of array.
    return new Kind(count * part.length);
  });
  for (let expert = 0; expert < count; expert++) {
    const parts = expert === 0 ? first : quantizedParts(matrixOf(tensor, expert), form, use);
    // Safe casts: both arrays have the same type.
    for (const [index, part] of parts.entries())
      (whole[index] as Uint8Array).set(part as Uint8Array, expert * part.length);
  }
  return whole;
}

/**
 * Returns the data of a weight's tensors, in the order of `keptParts`. The next call may overwrite arrays with 8-bit
 * codes.
 */
export function quantizedParts(
  tensor: StoredTensor,
  form: Exclude<WeightForm, "float32">,
  use: WeightUse,
): readonly DataArrays[DataType][] {
  if (isCodes(form)) return withRowsOf(tensor, (rows) => codeParts(rows, tensor, { form, use }));
  const { shape } = tensor;
  const blocks = hasFourBitBlocks(tensor) ? readFourBitBlocks(tensor) : toInt4(readFloats(tensor), shape);
  const { codes, scales, offsets } = blocks;
  // The 8-bit codes for prompts are computed from the rounded 4-bit values, not from the original values. Otherwise
  // prompts and decoded tokens would be computed with different weights.
  const inPrompts = codeParts(blockRows(blocks, shape), tensor, { form: promptCodes, use });
  if (form === "int4") {
    assert(offsets === null, `the blocks of ${tensor.name} have no offsets`);
    return [scales, codes, ...inPrompts];
  }
  const byColumn = byBlock(present(offsets, `offsets of ${tensor.name}`), shape[0], shape[1] / blockSize);
  return [scales, codes, byColumn, ...inPrompts];
}

function blockRows({ codes, scales, offsets }: BlockSource, [, K]: readonly number[]): RowReader {
  return {
    together: 1,
    floats: (from, count) => {
      const blocks = [(from * K) / blockSize, ((from + count) * K) / blockSize] as const;
      return blockValues({
        codes: codes.subarray((from * K) / 2, ((from + count) * K) / 2),
        scales: scales.subarray(...blocks),
        offsets: offsets === null ? null : offsets.subarray(...blocks),
      });
    },
  };
}

function codeParts(
  read: RowReader,
  tensor: StoredTensor,
  { form, use }: CodeOptions,
): readonly DataArrays[DataType][] {
  const wanted = { hasRows: use.isLookedUp, hasColumns: use.isMultiplied };
  const { rows, columns, scales } = roundedCodes(read, tensor.shape, wanted);
  return [
    scales,
    ...(use.isLookedUp ? [storedAs(form, rows)] : []),
    ...(use.isMultiplied ? [storedAs(form, columns)] : []),
  ];
}

/** Converts signed codes to the type of their form, in place. Unsigned codes are stored with 128 added. */
function storedAs(form: CodeType, codes: Int8Array): Int8Array | Uint8Array {
  if (form === "int8") return codes;
  const unsigned = new Uint8Array(codes.buffer, codes.byteOffset, codes.length);
  for (let at = 0; at < unsigned.length; at++) unsigned[at] ^= 128;
  return unsigned;
}

function byBlock(offsets: Float32Array, N: number, blockCount: number): Float32Array {
  const result = new Float32Array(offsets.length);
  for (let row = 0; row < N; row++) {
    for (let block = 0; block < blockCount; block++) {
      result[block * N + row] = offsets[row * blockCount + block];
    }
  }
  return result;
}

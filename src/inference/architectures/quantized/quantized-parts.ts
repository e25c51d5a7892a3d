// Computes the tensors of a quantized weight from the tensor stored in a file. Copies the stored tensor's four-bit
// blocks if possible; otherwise rounds its values.
import { assert, present } from "../../../base/domain/assert.ts";
import type { DataType } from "../../../lib/graph/graph.ts";
import type { DataArrays } from "../../../lib/graph/tensor.ts";
import { hasFourBitBlocks, readFourBitBlocks } from "../../../lib/model-files/gguf/four-bit-blocks.ts";
import {
  matrixOf,
  readFloats,
  rowsOf,
  rowsReadTogether,
  type StoredTensor,
} from "../../../lib/model-files/stored-tensor.ts";
import {
  blockValues,
  toInt4,
  toInt8,
  toInt8Columns,
  transposed,
  type Int4Blocks,
  type Int8Rows,
} from "./quantize.ts";
import { rotated } from "./rotation.ts";
import {
  blockSize,
  isCodes,
  promptCodes,
  type CodeType,
  type WeightForm,
  type WeightUse,
} from "./weight-forms.ts";

/**
 * Maximum number of values that are rounded at a time. A group of rows that must be read together may have more values.
 */
const roundedCountMax = 2 ** 16;

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

/** Returns the data of a weight's tensors, in the order of `keptParts`. */
export function quantizedParts(
  tensor: StoredTensor,
  form: Exclude<WeightForm, "float32">,
  use: WeightUse,
): readonly DataArrays[DataType][] {
  if (isCodes(form)) return codeParts(tensorRows(tensor), tensor, { form, use });
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

/** Returns `count` rows of a weight, beginning with row `from`, as [count, K]. */
type ReadRows = (from: number, count: number) => Float32Array;

function tensorRows(tensor: StoredTensor): ReadRows {
  return (from, count) => readFloats(rowsOf(tensor, from, count));
}

function blockRows({ codes, scales, offsets }: BlockSource, [, K]: readonly number[]): ReadRows {
  return (from, count) => {
    const blocks = [(from * K) / blockSize, ((from + count) * K) / blockSize] as const;
    return blockValues({
      codes: codes.subarray((from * K) / 2, ((from + count) * K) / 2),
      scales: scales.subarray(...blocks),
      offsets: offsets === null ? null : offsets.subarray(...blocks),
    });
  };
}

/**
 * Rounds a weight by groups of rows. The float32 values of a whole embedding take gigabytes, while those of a group fit
 * in the processor's caches.
 */
function roundedRows(read: ReadRows, tensor: StoredTensor): Int8Rows {
  const [N, K] = tensor.shape;
  const together = rowsReadTogether(tensor);
  const step = together * Math.max(1, Math.floor(roundedCountMax / (K * together)));
  const rows = new Int8Array(N * K);
  const scales = new Float32Array(N);
  for (let from = 0; from < N; from += step) {
    const count = Math.min(step, N - from);
    const group = toInt8(rotated(read(from, count), K), [count, K]);
    rows.set(group.rows, from * K);
    scales.set(group.scales, from);
  }
  return { rows, scales };
}

function codeParts(
  read: ReadRows,
  tensor: StoredTensor,
  { form, use }: CodeOptions,
): readonly DataArrays[DataType][] {
  const { rows, scales } = roundedRows(read, tensor);
  return [
    scales,
    ...(use.isLookedUp ? [storedAs(form, rows)] : []),
    ...(use.isMultiplied ? [storedAs(form, transposed(rows, tensor.shape))] : []),
  ];
}

/** Returns the data of the tensors that gradients need for an 8-bit weight, in the order of `gradientParts`. */
export function codeGradientParts(
  tensor: StoredTensor,
  { form, use }: CodeOptions,
): readonly DataArrays[DataType][] {
  if (use.isLookedUp) return [];
  if (use.isOutput) {
    return [storedAs(form, roundedRows(tensorRows(tensor), tensor).rows)];
  }
  const { codes, scales } = toInt8Columns(readFloats(tensor), tensor.shape);
  return [scales, storedAs(form, codes)];
}

/** Converts signed codes to the type of their form. Unsigned codes are stored with 128 added. */
function storedAs(form: CodeType, codes: Int8Array): Int8Array | Uint8Array {
  return form === "int8" ? codes : Uint8Array.from(codes, (code) => code + 128);
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

// The tensors of one quantized weight, of what a file holds: blocks of four bits as they are where they can be, else rounded
// from what the weight stands for.
import { assert, present } from "../../domain/assert.ts";
import type { DataType } from "../../graph/graph.ts";
import type { DataArrays } from "../../graph/tensor.ts";
import { hasFourBitBlocks, readFourBitBlocks } from "../../model-files/gguf/four-bit-blocks.ts";
import { readFloats, type StoredTensor } from "../../model-files/stored-tensor.ts";
import { blockValues, toInt4, toInt8, toInt8Columns, transposed } from "./quantize.ts";
import { rotated } from "./rotation.ts";
import { blockSize, type WeightForm, type WeightUse } from "./weight-forms.ts";

/** The data of what `keptParts` names, in its order. */
export function quantizedParts(
  tensor: StoredTensor,
  form: Exclude<WeightForm, "float32">,
  use: WeightUse,
): readonly DataArrays[DataType][] {
  if (form === "int8") return int8Parts(readFloats(tensor), tensor, use);
  const { shape } = tensor;
  const blocks = hasFourBitBlocks(tensor) ? readFourBitBlocks(tensor) : toInt4(readFloats(tensor), shape);
  const { codes, scales, offsets } = blocks;
  // Of the numbers that the codes stand for: prompts and decoded tokens are of one model.
  const inPrompts = int8Parts(blockValues(blocks), tensor, use);
  if (form === "int4") {
    assert(offsets === null, `the blocks of ${tensor.name} have no offsets`);
    return [scales, codes, ...inPrompts];
  }
  const byColumn = byBlock(present(offsets, `offsets of ${tensor.name}`), shape[0], shape[1] / blockSize);
  return [scales, codes, byColumn, ...inPrompts];
}

/** @param values the weight's, [N, K] */
function int8Parts(
  values: Float32Array,
  { shape }: Pick<StoredTensor, "shape">,
  use: WeightUse,
): readonly DataArrays[DataType][] {
  const { rows, scales } = toInt8(rotated(values, shape[1]), shape);
  return [scales, ...(use.isLookedUp ? [rows] : []), ...(use.isMultiplied ? [transposed(rows, shape)] : [])];
}

/** The data of what `gradientParts` names for a weight of 8 bits, in its order. */
export function int8GradientParts(tensor: StoredTensor, use: WeightUse): readonly DataArrays[DataType][] {
  if (use.isLookedUp) return [];
  if (use.isOutput) return [toInt8(rotated(readFloats(tensor), tensor.shape[1]), tensor.shape).rows];
  const { codes, scales } = toInt8Columns(readFloats(tensor), tensor.shape);
  return [scales, codes];
}

/** [N, blocks] to [blocks, N]. */
function byBlock(offsets: Float32Array, N: number, blockCount: number): Float32Array {
  const result = new Float32Array(offsets.length);
  for (let row = 0; row < N; row++) {
    for (let block = 0; block < blockCount; block++) {
      result[block * N + row] = offsets[row * blockCount + block];
    }
  }
  return result;
}

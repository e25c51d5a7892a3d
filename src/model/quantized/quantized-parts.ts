// The tensors of one quantized weight, of what a file holds: blocks of four bits as they are where they can be, else rounded
// from what the weight stands for.
import { assert, present } from "../../domain/assert.ts";
import type { DataType } from "../../graph/graph.ts";
import type { DataArrays } from "../../graph/tensor.ts";
import { hasFourBitBlocks, readFourBitBlocks } from "../../model-files/gguf/four-bit-blocks.ts";
import { readFloats, type StoredTensor } from "../../model-files/stored-tensor.ts";
import { toInt4, toInt8, transposed } from "./quantize.ts";
import { rotated } from "./rotation.ts";
import type { WeightForm, WeightUse } from "./weight-forms.ts";

/** The data of what `partsOf` names, in its order. */
export function quantizedParts(
  tensor: StoredTensor,
  form: Exclude<WeightForm, "float32">,
  use: WeightUse,
): readonly DataArrays[DataType][] {
  if (form === "int8") {
    const { rows, scales } = toInt8(rotated(readFloats(tensor), tensor.shape[1]), tensor.shape);
    return [
      scales,
      ...(use.isLookedUp ? [rows] : []),
      ...(use.isMultiplied ? [transposed(rows, tensor.shape)] : []),
    ];
  }
  const blocks = hasFourBitBlocks(tensor)
    ? readFourBitBlocks(tensor)
    : toInt4(readFloats(tensor), tensor.shape);
  const { codes, scales, offsets } = blocks;
  if (form === "int4") {
    assert(offsets === null, `the blocks of ${tensor.name} have no offsets`);
    return [scales, codes];
  }
  const [N, K] = tensor.shape;
  return [scales, codes, byBlock(present(offsets, `offsets of ${tensor.name}`), N, K / 32)];
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

// Reads tensors with four bits a weight in blocks of 32, without decoding them. Each block has a scale, and in some
// types a minimum. block-types.ts decodes all types.
import { readTensorBytes, storedRowOf, type StoredTensor } from "../stored-tensor.ts";
import { sixBitMinimum, sixBitScale } from "./block-types.ts";
import { half } from "../half-lookup.ts";

/**
 * Blocks of four-bit codes. Weight k of row n is (code − 8) · scale + offset, with the scale and offset of its block.
 */
export interface FourBitBlocks {
  /** Codes [N, K/32, 16], two per byte, the first in the lower half. */
  readonly codes: Uint8Array;
  /** Scales [N, K/32]. */
  readonly scales: Float32Array;
  /** Offsets [N, K/32]; null for a type without offsets. */
  readonly offsets: Float32Array | null;
}

/** Copies block number `block`, of 32 weights, from the bytes starting at `from`. */
type BlockCopier = (bytes: Uint8Array, from: number, block: number, into: BlockArrays) => void;

interface BlockArrays {
  readonly codes: Uint8Array;
  readonly scales: Float32Array;
  readonly offsets: Float32Array;
}

const copiers = {
  Q4_0: { groups: 1, bytes: 18, take: copyQ4_0 },
  Q4_1: { groups: 1, bytes: 20, take: copyQ4_1 },
  Q4_K: { groups: 8, bytes: 144, take: copyQ4K },
} as const;

type FourBitType = keyof typeof copiers;

/** True if {@link readFourBitBlocks} can read the tensor. */
export function hasFourBitBlocks(tensor: StoredTensor): tensor is StoredTensor<FourBitType> {
  const { rearranged } = tensor;
  // Restoring the order of columns may move weights within a block or between blocks, so whole blocks cannot be copied.
  const movesColumns = rearranged?.kind === "tiled-heads" && rearranged.axis === "columns";
  return Object.hasOwn(copiers, tensor.type) && !movesColumns;
}

/** Reads the blocks of a tensor of rank 2, in the same order of rows as `readFloats`. */
export function readFourBitBlocks(tensor: StoredTensor<FourBitType>): FourBitBlocks {
  const {
    groups,
    bytes: size,
    take,
  }: { groups: number; bytes: number; take: BlockCopier } = copiers[tensor.type];
  const bytes = readTensorBytes(tensor);
  const [rowCount, width] = tensor.shape;
  const blockCount = (rowCount * width) / 32;
  const taken: BlockArrays = {
    codes: new Uint8Array(16 * blockCount),
    scales: new Float32Array(blockCount),
    offsets: new Float32Array(blockCount),
  };
  for (let index = 0; index * groups < blockCount; index++) take(bytes, index * size, index * groups, taken);
  const { codes, scales, offsets } = restoreRowOrder(taken, tensor);
  return { codes, scales, offsets: tensor.type === "Q4_0" ? null : offsets };
}

/** Restores the row order that the converter changed. Moves whole blocks, because no block crosses a row. */
function restoreRowOrder(taken: BlockArrays, tensor: StoredTensor): BlockArrays {
  const storedOf = storedRowOf(tensor);
  if (storedOf === null) return taken;
  const [rowCount, width] = tensor.shape;
  const blocks = width / 32;
  const ordered = <Values extends Uint8Array | Float32Array>(values: Values, rowSize: number): Values => {
    const result = values.slice() as Values; // Safe cast: a copy of the same kind.
    for (let row = 0; row < rowCount; row++) {
      const stored = storedOf(row);
      result.set(values.subarray(stored * rowSize, (stored + 1) * rowSize), row * rowSize);
    }
    return result;
  };
  return {
    codes: ordered(taken.codes, 16 * blocks),
    scales: ordered(taken.scales, blocks),
    offsets: ordered(taken.offsets, blocks),
  };
}

function copyQ4_0(bytes: Uint8Array, from: number, block: number, into: BlockArrays): void {
  into.scales[block] = half(bytes, from);
  copyHalves(bytes, from + 2, block, into);
}

function copyQ4_1(bytes: Uint8Array, from: number, block: number, into: BlockArrays): void {
  const scale = half(bytes, from);
  into.scales[block] = scale;
  into.offsets[block] = half(bytes, from + 2) + 8 * scale;
  copyHalves(bytes, from + 4, block, into);
}

/** Copies sixteen bytes that hold the first 16 weights in their lower halves and the other 16 in their upper halves. */
function copyHalves(bytes: Uint8Array, from: number, block: number, { codes }: BlockArrays): void {
  for (let index = 0; index < 8; index++) {
    const [first, second] = [bytes[from + 2 * index], bytes[from + 2 * index + 1]];
    codes[16 * block + index] = (first & 15) | ((second & 15) << 4);
    codes[16 * block + 8 + index] = (first >> 4) | (second & 0xf0);
  }
}

/** Copies the eight groups of 32 weights in a Q4_K block; two groups share 32 bytes. */
function copyQ4K(bytes: Uint8Array, from: number, block: number, into: BlockArrays): void {
  const [scale, least] = [half(bytes, from), half(bytes, from + 2)];
  for (let group = 0; group < 8; group++) {
    const groupScale = scale * sixBitScale(bytes, from + 4, group);
    into.scales[block + group] = groupScale;
    into.offsets[block + group] = 8 * groupScale - least * sixBitMinimum(bytes, from + 4, group);
    const [pairs, shift] = [from + 16 + 32 * (group >> 1), 4 * (group & 1)];
    for (let index = 0; index < 16; index++) {
      const first = (bytes[pairs + 2 * index] >> shift) & 15;
      const second = (bytes[pairs + 2 * index + 1] >> shift) & 15;
      into.codes[16 * (block + group) + index] = first | (second << 4);
    }
  }
}

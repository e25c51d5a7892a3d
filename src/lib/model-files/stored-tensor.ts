// A tensor in a weight file, independent of the file's format: its type, its location, and its values on demand. All
// reading is synchronous, because it happens in child processes and at startup.
import { closeSync, openSync, readSync } from "node:fs";
import { assert, unreachable } from "../../base/domain/assert.ts";
import { ServiceError } from "../../base/domain/service-error.ts";
import { blockTypes, dequantize } from "./gguf/block-types.ts";
import { decodePairs } from "./gguf/four-bit-floats.ts";
import { bfloat16ToFloat32, float16ToFloat32 } from "./half-floats.ts";

const plainTypes = {
  F32: { weights: 1, bytes: 4 },
  F16: { weights: 1, bytes: 2 },
  BF16: { weights: 1, bytes: 2 },
  I64: { weights: 1, bytes: 8 },
  U8: { weights: 1, bytes: 1 },
} as const;

/**
 * The supported element types, each with the number of weights and of bytes in a block; a plain type has blocks of one
 * weight.
 */
const storedTypes = { ...plainTypes, ...blockTypes } as const;

export type StoredType = keyof typeof storedTypes;
/** Types whose elements are stored individually, not in blocks. */
export type PlainType = keyof typeof plainTypes;

/** Location of one tensor. */
export interface StoredTensor<Type extends StoredType = StoredType> {
  readonly name: string;
  readonly type: Type;
  readonly shape: readonly number[];
  readonly file: string;
  /** Offset in bytes from the file's beginning. */
  readonly offset: number;
  readonly byteLength: number;
  /** Change that the program that wrote the file has made to the values; reading undoes it. */
  readonly rearranged?: Rearrangement;
  /** Tensors that together hold this tensor's rows, one tensor after the other; absent if it is stored as a whole. */
  readonly pieces?: readonly StoredTensor[];
  /**
   * Location of the block scales of an MXFP4 tensor if they are stored separately; absent if each block contains its
   * scale.
   */
  readonly blockScales?: Pick<StoredTensor, "file" | "offset" | "byteLength">;
}

/**
 * Kind of change:
 * * `paired-rows`: the two rows of a rotary pair are adjacent within a head, but should be half a head apart.
 * * `plus-one`: one was added to each value.
 * * `tiled-heads`: the file holds the first value head of each key head, then the second of each, and so on. All value
 * heads of one key head should follow one another.
 * * `transposed`: rows are stored as columns; with `isPaired`, also as in `paired-rows` with one head.
 */
export type Rearrangement =
  | { readonly kind: "transposed"; readonly isPaired: boolean }
  | { readonly kind: "paired-rows"; readonly headCount: number }
  | { readonly kind: "plus-one" }
  | TiledHeads;

export interface TiledHeads {
  readonly kind: "tiled-heads";
  /** Axis along which the heads follow one another. */
  readonly axis: "rows" | "columns";
  /** Number of rows or columns before the first head. */
  readonly first: number;
  readonly headSize: number;
  readonly keyHeads: number;
  readonly valueHeads: number;
  /** True if the file holds −exp(x) instead of x. */
  readonly isNegatedPower?: boolean;
}

export function isPlainType(type: string): type is PlainType {
  return Object.hasOwn(plainTypes, type);
}

/** Names of the plain types, for messages. */
export const plainTypeNames: string = Object.keys(plainTypes).join(", ");

/** Returns the size of a tensor in bytes; null if its last axis is not a whole number of blocks. */
export function byteLengthOf(type: StoredType, shape: readonly number[]): number | null {
  const { weights, bytes } = storedTypes[type];
  const width = shape.at(-1) ?? 1;
  if (width % weights !== 0) return null;
  return shape.slice(0, -1).reduce((product, size) => product * size, (width / weights) * bytes);
}

/**
 * Returns how many consecutive rows of a tensor must be read together. The number exceeds 1 if reading joins or
 * reorders rows.
 */
export function rowsReadTogether({ shape, rearranged, pieces }: StoredTensor): number {
  if (pieces !== undefined) return shape[0];
  if (rearranged?.kind === "paired-rows") return shape[0] / rearranged.headCount;
  return rearranged?.kind === "tiled-heads" && rearranged.axis === "rows" ? shape[0] : 1;
}

/**
 * Returns rows of a tensor of rank 2, as a separate tensor at their location.
 *
 * @param from index of the first row; must be a multiple of {@link rowsReadTogether}, as must `count`
 */
export function rowsOf<Type extends StoredType>(
  tensor: StoredTensor<Type>,
  from: number,
  count: number,
): StoredTensor<Type> {
  const [rowCount, width] = tensor.shape;
  assert(tensor.shape.length === 2 && from + count <= rowCount, `${tensor.name} has the rows`);
  const together = rowsReadTogether(tensor);
  assert(from % together === 0 && count % together === 0, `the heads of ${tensor.name} are whole`);
  const rowBytes = tensor.byteLength / rowCount;
  const offset = tensor.offset + from * rowBytes;
  const rows = { ...tensor, shape: [count, width], offset, byteLength: count * rowBytes };
  if (tensor.rearranged?.kind !== "paired-rows") return rows;
  return { ...rows, rearranged: { kind: "paired-rows", headCount: count / together } };
}

/** Joins tensors along their first axis to one tensor. Its location is that of the first tensor. */
export function joinedRows(
  name: string,
  pieces: readonly StoredTensor[],
  shape: readonly number[],
): StoredTensor {
  const byteLength = pieces.reduce((sum, piece) => sum + piece.byteLength, 0);
  return { ...pieces[0], name, shape, byteLength, pieces };
}

/** Returns matrix number `index` of a tensor [E, N, K], as a separate tensor [N, K]. */
export function matrixOf(tensor: StoredTensor, index: number): StoredTensor {
  const [count, ...shape] = tensor.shape;
  const { name, pieces } = tensor;
  if (pieces === undefined) {
    const byteLength = tensor.byteLength / count;
    return { ...tensor, shape, byteLength, offset: tensor.offset + index * byteLength };
  }
  const perMatrix = pieces.length / count;
  return joinedRows(name, pieces.slice(index * perMatrix, (index + 1) * perMatrix), shape);
}

/** Reads one tensor's values, widened to float32; `I64` is refused. */
export function readFloats(tensor: StoredTensor): Float32Array {
  if (tensor.pieces !== undefined) return joinedFloats(tensor.pieces);
  const values = widened(tensor);
  switch (tensor.rearranged?.kind) {
    case undefined:
      return values;
    case "plus-one":
      return values.map((value) => value - 1);
    case "paired-rows":
      return inRowOrder(values, tensor);
    case "tiled-heads":
      return untiled(values, tensor, tensor.rearranged);
    case "transposed":
      return untransposed(values, tensor, tensor.rearranged.isPaired);
    default:
      return unreachable(tensor.rearranged);
  }
}

function joinedFloats(pieces: readonly StoredTensor[]): Float32Array {
  const sizes = pieces.map(({ shape }) => shape.reduce((product, size) => product * size, 1));
  const values = new Float32Array(sizes.reduce((sum, size) => sum + size, 0));
  let from = 0;
  for (const [index, piece] of pieces.entries()) {
    values.set(readFloats(piece), from);
    from += sizes[index];
  }
  return values;
}

function untransposed(values: Float32Array, { shape }: StoredTensor, isPaired: boolean): Float32Array {
  const [rows, width] = shape;
  const result = new Float32Array(values.length);
  for (let row = 0; row < rows; row++) {
    const stored = isPaired ? pairedRow(row, rows) : row;
    for (let column = 0; column < width; column++)
      result[row * width + column] = values[column * rows + stored];
  }
  return result;
}

function widened({ name, type, file, blockScales, ...place }: StoredTensor): Float32Array {
  const bytes = readTensorBytes({ file, ...place });
  if (blockScales !== undefined) return decodePairs(bytes, readTensorBytes(blockScales));
  switch (type) {
    case "F32":
      return new Float32Array(bytes.buffer, bytes.byteOffset, bytes.byteLength / 4);
    case "F16":
      return float16ToFloat32(new Uint16Array(bytes.buffer, bytes.byteOffset, bytes.byteLength / 2));
    case "BF16":
      return bfloat16ToFloat32(new Uint16Array(bytes.buffer, bytes.byteOffset, bytes.byteLength / 2));
    case "I64":
    case "U8":
      throw corrupt(file, `${name} holds integers where floating-point numbers are expected`);
    default:
      return dequantize(type, bytes);
  }
}

function inRowOrder(values: Float32Array, tensor: StoredTensor): Float32Array {
  const storedOf = storedRowOf(tensor);
  if (storedOf === null) return values;
  const width = values.length / tensor.shape[0];
  const result = new Float32Array(values.length);
  for (let row = 0; row < tensor.shape[0]; row++) {
    const stored = storedOf(row);
    result.set(values.subarray(stored * width, (stored + 1) * width), row * width);
  }
  return result;
}

function untiled(values: Float32Array, tensor: StoredTensor, heads: TiledHeads): Float32Array {
  if (heads.axis === "rows") {
    const ordered = inRowOrder(values, tensor);
    return heads.isNegatedPower === true ? ordered.map((value) => Math.log(-value)) : ordered;
  }
  const width = tensor.shape.at(-1) ?? 1;
  const columns = Array.from({ length: width }, (_, column) => storedIndexOf(column, heads));
  return values.map((_, at) => values[at - (at % width) + columns[at % width]]);
}

/** Returns a function from a row's index to its index in the file; null if the file has the rows in order. */
export function storedRowOf({ shape, rearranged }: StoredTensor): ((row: number) => number) | null {
  if (rearranged?.kind === "paired-rows") {
    const headSize = shape[0] / rearranged.headCount;
    return (row) => pairedRow(row, headSize);
  }
  if (rearranged?.kind !== "tiled-heads" || rearranged.axis !== "rows") return null;
  return (row) => storedIndexOf(row, rearranged);
}

/**
 * Returns the stored index of a row in a tensor with `paired-rows`. Row r of a head's first half is stored as the
 * head's row 2 r, row r of the second half as 2 r + 1.
 */
function pairedRow(row: number, headSize: number): number {
  const inHead = row % headSize;
  const pair = inHead % (headSize / 2);
  return row - inHead + 2 * pair + (inHead < headSize / 2 ? 0 : 1);
}

/** Returns the stored index of a row or column in a tensor with `tiled-heads`. */
export function storedIndexOf(index: number, { first, headSize, keyHeads, valueHeads }: TiledHeads): number {
  if (index < first) return index;
  const inHead = (index - first) % headSize;
  const head = (index - first - inHead) / headSize;
  const perKey = valueHeads / keyHeads;
  const stored = (head % perKey) * keyHeads + Math.floor(head / perKey);
  return first + stored * headSize + inHead;
}

/** Reads a tensor of integers. */
export function readIntegers(tensor: StoredTensor): BigInt64Array {
  if (tensor.type !== "I64") {
    throw corrupt(tensor.file, `${tensor.name} is ${tensor.type} where integers (I64) are expected`);
  }
  const bytes = readTensorBytes(tensor);
  return new BigInt64Array(bytes.buffer, bytes.byteOffset, bytes.byteLength / 8);
}

/** Returns a tensor's bytes as stored in the file, in a new buffer. */
export function readTensorBytes({
  file,
  offset,
  byteLength,
}: Pick<StoredTensor, "file" | "offset" | "byteLength">): Uint8Array {
  const descriptor = openSync(file, "r");
  try {
    return readBytes(descriptor, { file, offset, byteLength });
  } finally {
    closeSync(descriptor);
  }
}

/** Reads into a new buffer, so that typed views of it are aligned. */
export function readBytes(
  descriptor: number,
  { file, offset, byteLength }: Pick<StoredTensor, "file" | "offset" | "byteLength">,
): Buffer {
  const bytes = Buffer.from(new ArrayBuffer(byteLength));
  readInto(descriptor, bytes, { file, offset });
  return bytes;
}

/** Fills an array with the bytes of a file from `offset` on. */
export function readInto(
  descriptor: number,
  bytes: Uint8Array,
  { file, offset }: Pick<StoredTensor, "file" | "offset">,
): void {
  const byteLength = bytes.length;
  // One read call moves at most 2 GiB.
  for (let done = 0; done < byteLength;) {
    const count = readSync(descriptor, bytes, done, Math.min(byteLength - done, 1 << 30), offset + done);
    if (count === 0) throw corrupt(file, `it ends ${byteLength - done} bytes early`);
    done += count;
  }
}

/** Creates the error for a damaged weight file. */
export function corrupt(file: string, fault: string, cause?: unknown): ServiceError {
  return new ServiceError({ code: "invalid", message: `${file} cannot be read: ${fault}.`, cause });
}

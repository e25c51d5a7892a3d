// Writes safetensors files atomically: writes to a temporary name, syncs, then renames.
import { closeSync, fsyncSync, openSync, renameSync, rmSync, writeSync } from "node:fs";
import { assert } from "../../base/domain/assert.ts";
import { float32ToBfloat16, float32ToFloat16 } from "./half-floats.ts";

/** A float32 array with a name, in row-major order. */
export interface NamedTensor {
  readonly name: string;
  readonly shape: readonly number[];
  readonly data: Float32Array;
}

/** Types in which numbers can be written. */
export type WrittenType = "F32" | "F16" | "BF16";

/** A tensor's entry in the header. */
export interface WrittenTensor {
  readonly name: string;
  readonly type: WrittenType;
  readonly shape: readonly number[];
}

/** Default metadata; it says, for other programs, that weights have PyTorch's layout. */
const usualMetadata = { format: "pt" };

/** Returns the bytes of the values, converted to the type. With `F32`, the result shares the memory of `values`. */
export function storedBytes(values: Float32Array, type: WrittenType): Uint8Array {
  const stored =
    type === "F32" ? values : type === "F16" ? float32ToFloat16(values) : float32ToBfloat16(values);
  return new Uint8Array(stored.buffer, stored.byteOffset, stored.byteLength);
}

export interface WriteOptions {
  /** Type in which values are stored; bfloat16 rounds them. */
  readonly type: "F32" | "BF16";
  readonly metadata?: Readonly<Record<string, string>>;
}

/** Writes the tensors in the given order; replaces an existing file atomically. */
export function writeSafetensors(
  file: string,
  tensors: readonly NamedTensor[],
  { type, metadata = usualMetadata }: WriteOptions,
): void {
  for (const { name, shape, data } of tensors)
    assert(elementCount(shape) === data.length, `${name} fills its shape`);
  const header = safetensorsHeader(
    tensors.map(({ name, shape }) => ({ name, shape, type })),
    metadata,
  );
  const partial = `${file}.partial`;
  const descriptor = openSync(partial, "w");
  try {
    writeWhole(descriptor, header);
    for (const { data } of tensors) writeWhole(descriptor, storedBytes(data, type));
    fsyncSync(descriptor);
  } catch (error) {
    rmSync(partial, { force: true });
    throw error;
  } finally {
    closeSync(descriptor);
  }
  renameSync(partial, file);
}

/** Returns the header of a file whose tensors follow each other in the given order, without gaps. */
export function safetensorsHeader(
  tensors: readonly WrittenTensor[],
  metadata: Readonly<Record<string, string>> = usualMetadata,
): Uint8Array {
  const entries: Record<string, unknown> = { __metadata__: metadata };
  let offset = 0;
  for (const { name, shape, type } of tensors) {
    assert(!Object.hasOwn(entries, name), `${name} occurs once`);
    const end = offset + writtenBytes({ shape, type });
    entries[name] = { dtype: type, shape, data_offsets: [offset, end] };
    offset = end;
  }
  const json = Buffer.from(JSON.stringify(entries), "utf8");
  // Pads the header with spaces, so that the data is aligned and can be mapped.
  const padded = Buffer.alloc(8 + Math.ceil(json.length / 8) * 8, " ");
  padded.writeBigUInt64LE(BigInt(padded.length - 8), 0);
  json.copy(padded, 8);
  return padded;
}

/** Returns the number of bytes that a tensor takes in a file. */
export function writtenBytes({ shape, type }: Omit<WrittenTensor, "name">): number {
  return elementCount(shape) * (type === "F32" ? 4 : 2);
}

function elementCount(shape: readonly number[]): number {
  return shape.reduce((product, size) => product * size, 1);
}

/**
 * Writes all bytes. Needs several system calls if one of them writes only a part of the bytes.
 *
 * @param offset position in the file; if absent, the bytes follow those written before
 */
export function writeWhole(descriptor: number, array: Float32Array | Uint8Array, offset?: number): void {
  const bytes = new Uint8Array(array.buffer, array.byteOffset, array.byteLength);
  for (let done = 0; done < bytes.length;) {
    const position = offset === undefined ? null : offset + done;
    done += writeSync(descriptor, bytes, done, Math.min(bytes.length - done, 1 << 30), position);
  }
}

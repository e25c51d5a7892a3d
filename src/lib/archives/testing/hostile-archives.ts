// For tests and measurements: tar archives that cost the reader as much as possible. No archive is ever completely in
// memory.
import { gzipSync } from "node:zlib";

/** Returns the header of an entry, as in POSIX; its content, padded to blocks of 512 bytes, follows it. */
export function tarHeader(name: string, byteCount: number, type = "0"): Buffer {
  const block = Buffer.alloc(512);
  block.write(name, 0);
  block.write("0000644\0", 100);
  block.write(`${byteCount.toString(8).padStart(11, "0")}\0`, 124);
  block.write("        ", 148);
  block.write(type, 156);
  block.write("ustar\u000000", 257);
  const sum = block.reduce((total, byte) => total + byte, 0);
  block.write(`${sum.toString(8).padStart(6, "0")}\0 `, 148);
  return block;
}

/** Returns an entry with its content; `byteCount` is the size that its header gives. */
export function tarEntry(
  name: string,
  content: string,
  { type = "0", byteCount = Buffer.byteLength(content) } = {},
): Buffer {
  const blocks = Buffer.alloc(Math.ceil(Buffer.byteLength(content) / 512) * 512);
  blocks.write(content);
  return Buffer.concat([tarHeader(name, byteCount, type), blocks]);
}

/** End of an archive: two empty blocks. */
export const tarEnd = Buffer.alloc(1024);

/** Yields `count` entries of the given size. */
export function* tarOfMany(
  count: number,
  byteCount: number,
  { name = "x", type = "0" } = {},
): Generator<Uint8Array, void> {
  const content = Buffer.alloc(Math.ceil(byteCount / 512) * 512, 0x20);
  for (let index = 0; index < count; index++) {
    yield tarHeader(name, byteCount, type);
    if (byteCount > 0) yield content;
  }
  yield tarEnd;
}

const mebibyte = 1 << 20;

/** Yields gzipped pieces that decompress to `count` MiB in total, several hundred times their own size. */
function* zippedMebibytes(count: number): Generator<Uint8Array, void> {
  const content = Buffer.alloc(mebibyte);
  for (let index = 0; index < mebibyte; index += 8192) content[index] = (index * 7919) >>> 13;
  const zipped = gzipSync(content);
  for (let index = 0; index < count; index++) yield zipped;
}

/** Yields a zipped archive with a single file of this many MiB. */
export function* zippedTarOfOne(name: string, mebibyteCount: number): Generator<Uint8Array, void> {
  yield gzipSync(tarHeader(name, mebibyteCount * mebibyte));
  yield* zippedMebibytes(mebibyteCount);
  yield gzipSync(tarEnd);
}

/** Yields a zipped archive of one small file, followed by this many MiB after its end. */
export function* zippedTarAndMore(mebibyteCount: number): Generator<Uint8Array, void> {
  yield gzipSync(Buffer.concat([tarHeader("x", 0), tarEnd]));
  yield* zippedMebibytes(mebibyteCount);
}

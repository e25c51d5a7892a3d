// Reads the bytes of an archive on demand, decompressing it if it is gzipped. Only a few chunks are in memory, however
// large the decompressed archive is.
import { pipeline } from "node:stream";
import { createGunzip } from "node:zlib";
import { malformed } from "./malformed.ts";

/** Maximum size of a decompressed chunk. */
const unzippedBytesMax = 1 << 16;
const gzipMagic = Buffer.from([0x1f, 0x8b]);

export class ArchiveBytes {
  /** Number of bytes read so far. */
  position = 0;
  readonly #pieces: AsyncGenerator<Uint8Array, void>;
  #piece: Buffer = Buffer.alloc(0);

  /** @param archive closed by {@link close}, or after its last byte was read */
  constructor(archive: AsyncIterable<Uint8Array>) {
    this.#pieces = unzipped(archive);
  }

  /**
   * Returns the next bytes, at least one and at most `countMax`; null at the end.
   *
   * @throws ServiceError `invalid` for data that cannot be decompressed; errors of reading the archive
   */
  async next(countMax: number): Promise<Buffer | null> {
    while (this.#piece.length === 0) {
      const { value } = await this.#pieces.next();
      if (value === undefined) return null;
      this.#piece = bufferOf(value);
    }
    const taken = this.#piece.subarray(0, countMax);
    this.#piece = this.#piece.subarray(taken.length);
    this.position += taken.length;
    return taken;
  }

  /**
   * Yields exactly `count` bytes in pieces.
   *
   * @throws ServiceError `invalid` if fewer bytes are left; otherwise as `next`
   */
  async *pieces(count: number): AsyncGenerator<Buffer, void> {
    for (let left = count; left > 0;) {
      const piece = await this.next(left);
      if (piece === null) throw malformed("it is cut off");
      left -= piece.length;
      yield piece;
    }
  }

  /**
   * Returns exactly `count` bytes, more than 0, in one buffer; null at the end.
   *
   * @throws as `pieces`
   */
  async take(count: number): Promise<Buffer | null> {
    const first = await this.next(count);
    if (first === null || first.length === count) return first;
    const pieces = [first];
    for await (const piece of this.pieces(count - first.length)) pieces.push(piece);
    return Buffer.concat(pieces);
  }

  /**
   * Skips `count` bytes.
   *
   * @throws as `pieces`
   */
  async skip(count: number): Promise<void> {
    for await (const _ of this.pieces(count));
  }

  async close(): Promise<void> {
    await this.#pieces.return();
  }
}

async function* unzipped(archive: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array, void> {
  const pieces = archive[Symbol.asyncIterator]();
  try {
    const beginning = await readPrefix(pieces);
    const whole = joined(beginning, pieces);
    if (beginning.subarray(0, gzipMagic.length).equals(gzipMagic)) yield* gunzipped(whole);
    else yield* whole;
  } finally {
    await pieces.return?.();
  }
}

/** Reads enough bytes to detect gzip. */
async function readPrefix(pieces: AsyncIterator<Uint8Array>): Promise<Buffer> {
  let beginning = Buffer.alloc(0);
  while (beginning.length < gzipMagic.length) {
    const next = await pieces.next();
    if (next.done === true) break;
    beginning = Buffer.concat([beginning, next.value]);
  }
  return beginning;
}

async function* joined(
  beginning: Uint8Array,
  pieces: AsyncIterator<Uint8Array>,
): AsyncGenerator<Uint8Array, void> {
  yield beginning;
  for (let next = await pieces.next(); next.done !== true; next = await pieces.next()) yield next.value;
}

async function* gunzipped(zipped: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array, void> {
  const gunzip = createGunzip({ chunkSize: unzippedBytesMax });
  // Errors need no handler here: the reader of the decompressed stream receives them.
  pipeline(zipped, gunzip, () => undefined);
  try {
    yield* gunzip as AsyncIterable<Buffer>;
  } catch (error) {
    const isOfZlib = error instanceof Error && "code" in error && String(error.code).startsWith("Z_");
    throw isOfZlib ? malformed(error.message, error) : error;
  }
}

function bufferOf({ buffer, byteOffset, length }: Uint8Array): Buffer {
  return Buffer.from(buffer, byteOffset, length);
}

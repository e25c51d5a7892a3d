// The bytes of an archive, unzipped where they are gzipped, for a reader that asks for so many at a time. No more than a few
// pieces are in memory, however much they unzip to.
import { pipeline } from "node:stream";
import { createGunzip } from "node:zlib";
import { malformed } from "./malformed.ts";

/** What is unzipped comes in pieces of so many bytes at most. */
const unzippedBytesMax = 1 << 16;
const gzipMagic = Buffer.from([0x1f, 0x8b]);

export class ArchiveBytes {
  /** How many have been read. */
  position = 0;
  readonly #pieces: AsyncGenerator<Uint8Array, void>;
  #piece: Buffer = Buffer.alloc(0);

  /** @param archive ended by {@link close}, and when it was read to its end */
  constructor(archive: AsyncIterable<Uint8Array>) {
    this.#pieces = unzipped(archive);
  }

  /**
   * The next bytes: at least one and at most so many; null at the end.
   *
   * @throws ServiceError `invalid` for what cannot be unzipped; what reading the archive throws
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

  /** So many bytes in pieces. @throws ServiceError `invalid` when there are fewer; as `next` */
  async *pieces(count: number): AsyncGenerator<Buffer, void> {
    for (let left = count; left > 0;) {
      const piece = await this.next(left);
      if (piece === null) throw malformed("it is cut off");
      left -= piece.length;
      yield piece;
    }
  }

  /** So many bytes, more than none, together; null at the end. @throws as `pieces` */
  async take(count: number): Promise<Buffer | null> {
    const first = await this.next(count);
    if (first === null || first.length === count) return first;
    const pieces = [first];
    for await (const piece of this.pieces(count - first.length)) pieces.push(piece);
    return Buffer.concat(pieces);
  }

  /** Reads past so many bytes. @throws as `pieces` */
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
    const beginning = await beginningOf(pieces);
    const whole = joined(beginning, pieces);
    if (beginning.subarray(0, gzipMagic.length).equals(gzipMagic)) yield* gunzipped(whole);
    else yield* whole;
  } finally {
    await pieces.return?.();
  }
}

/** Enough to see whether it is gzipped. */
async function beginningOf(pieces: AsyncIterator<Uint8Array>): Promise<Buffer> {
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
  // What fails is thrown where the end of this is read.
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

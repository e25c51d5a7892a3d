// Sends a long answer while it is produced, no faster than the client reads it. Stops the source of the pieces if the
// client disconnects or reads nothing for too long.
import { Readable } from "node:stream";
import type { FastifyReply } from "fastify";
import { compressedStream } from "./bodies/compress-answers.ts";
import { IdleStreamError } from "./sse.ts";
import type { HttpSettings } from "./settings.ts";

/**
 * Sends the pieces as the answer, whose content type is already set; compresses text if the client accepts that. On an
 * error, closes the connection, because the status is already sent. The client then sees an incomplete answer.
 */
export function sendPieces(
  reply: FastifyReply,
  pieces: AsyncIterable<Uint8Array | string> | Iterable<Uint8Array | string>,
  { idleStreamSeconds }: Pick<HttpSettings, "idleStreamSeconds">,
): FastifyReply {
  return reply.send(compressedStream(reply, pacedStream(pieces, idleStreamSeconds * 1000)));
}

/**
 * Size in bytes of the chunks into which the pieces are joined. One chunk is buffered ahead of the client, which must
 * read a whole chunk within the idle time.
 */
const chunkBytes = 1 << 16;

/**
 * Returns a stream that produces pieces only as fast as they are read. The stream fails if nothing is read for
 * `idleMs`.
 */
export function pacedStream(
  pieces: AsyncIterable<Uint8Array | string> | Iterable<Uint8Array | string>,
  idleMs: number,
): Readable {
  const chunks = watched(inChunks(pieces), (error) => stream.destroy(error), idleMs);
  const stream = Readable.from(chunks, { objectMode: false, highWaterMark: chunkBytes });
  return stream;
}

async function* inChunks(
  pieces: AsyncIterable<Uint8Array | string> | Iterable<Uint8Array | string>,
): AsyncGenerator<Uint8Array, void> {
  for await (const piece of pieces) {
    const bytes = typeof piece === "string" ? new TextEncoder().encode(piece) : piece;
    for (let start = 0; start < bytes.length; start += chunkBytes)
      yield bytes.subarray(start, start + chunkBytes);
  }
}

async function* watched<Piece>(
  pieces: AsyncIterable<Piece>,
  giveUp: (error: Error) => void,
  idleMs: number,
): AsyncGenerator<Piece, void> {
  for await (const piece of pieces) {
    const timer = setTimeout(
      () => giveUp(new IdleStreamError(`the client read nothing for ${idleMs} ms`)),
      idleMs,
    );
    try {
      yield piece;
    } finally {
      clearTimeout(timer);
    }
  }
}

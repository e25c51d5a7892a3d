// A long answer that is produced as it is read: it waits for a slow client, and stops its source if the client
// disconnects or reads nothing for too long.
import { Readable } from "node:stream";
import type { FastifyReply } from "fastify";
import { IdleStreamError } from "./sse.ts";
import type { HttpSettings } from "./settings.ts";

/**
 * Sends the pieces. An error breaks the connection off, because the status is already sent; clients see an incomplete
 * answer.
 */
export function sendPieces(
  reply: FastifyReply,
  pieces: AsyncIterable<Uint8Array | string> | Iterable<Uint8Array | string>,
  { idleStreamSeconds }: Pick<HttpSettings, "idleStreamSeconds">,
): FastifyReply {
  return reply.send(pacedStream(pieces, idleStreamSeconds * 1000));
}

/** Bytes that are buffered ahead of the client, and that a client must read to count as reading. */
const chunkBytes = 1 << 16;

/** Returns the pieces as a stream that produces only what is read, and fails if nothing is read for `idleMs`. */
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

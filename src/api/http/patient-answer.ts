// A long answer that is made as it is read: it waits while the client reads slowly, and stops its source when the client
// goes away or reads nothing for too long.
import { Readable } from "node:stream";
import type { FastifyReply } from "fastify";
import { IdleStreamError } from "./sse.ts";
import type { HttpSettings } from "./settings.ts";

/** Sends the pieces. What they throw breaks the connection off, since the status is sent: clients see that the rest lacks. */
export function sendPieces(
  reply: FastifyReply,
  pieces: AsyncIterable<Uint8Array | string> | Iterable<Uint8Array | string>,
  { idleStreamSeconds }: Pick<HttpSettings, "idleStreamSeconds">,
): FastifyReply {
  return reply.send(patientStream(pieces, idleStreamSeconds * 1000));
}

/** Of what is made, so much waits to be read; and a client that reads so much of it reads. */
const chunkBytes = 1 << 16;

/** The pieces as a stream, which makes no more than is read, and fails when nothing is read of it for `idleMs`. */
export function patientStream(
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

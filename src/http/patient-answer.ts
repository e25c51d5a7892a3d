// An answer that is long and made as it is read: it waits while the client reads slowly, and ends, with whatever makes it,
// when the client goes away or reads nothing for too long.
import { Readable } from "node:stream";
import type { FastifyReply } from "fastify";
import { IdleStreamError } from "./sse.ts";
import type { HttpSettings } from "./settings.ts";

/** Sends the pieces. What they throw breaks the connection off, since the status is sent: clients see that the rest lacks. */
export function sendPieces(
  reply: FastifyReply,
  pieces: AsyncIterable<Uint8Array | string>,
  { idleStreamSeconds }: Pick<HttpSettings, "idleStreamSeconds">,
): FastifyReply {
  const stream = Readable.from(watched(pieces, (error) => stream.destroy(error), idleStreamSeconds * 1000));
  return reply.send(stream);
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

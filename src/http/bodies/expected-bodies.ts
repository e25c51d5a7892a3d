// Bodies whose senders wait to be asked for them (`Expect: 100-continue`): asked for once nothing speaks against the
// request that can be known without its body, so that what is refused is never sent.
import type { IncomingMessage, ServerResponse } from "node:http";
import type { FastifyInstance, FastifyRequest } from "fastify";

const waiting = new WeakSet<IncomingMessage>();

/** Has requests handled without asking for their bodies, which Node would do by itself. */
export function leaveBodiesUnasked({ server }: FastifyInstance): void {
  server.on("checkContinue", (request: IncomingMessage, response: ServerResponse) => {
    waiting.add(request);
    server.emit("request", request, response);
  });
}

/** To be called by whoever reads a body, before the first byte of it; does nothing where nobody waits. */
export function askForBody({ raw, response }: FastifyRequest): void {
  if (waiting.delete(raw)) response.writeContinue();
}

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

/** Asks the client for the body, before its first byte is read; does nothing where the client does not wait. */
export function askForBody({ raw, response }: FastifyRequest): void {
  if (waiting.delete(raw)) response.writeContinue();
}

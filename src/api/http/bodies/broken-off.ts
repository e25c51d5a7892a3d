// Says in the log why an answer broke off in mid-stream: its status is sent, so that its client sees no more than the end of
// the connection. Answers that failed before their first byte, and event streams, are logged where they are answered.
import { Readable } from "node:stream";
import type { FastifyInstance } from "fastify";
import type { Logger } from "../../../base/telemetry/logger.ts";
import { errorAnswer } from "../errors.ts";
import { IdleStreamError } from "../sse.ts";

/** Watches every answer that is a stream; a client's going away is no error of one. */
export function logBrokenOff(app: FastifyInstance, logger: Logger): void {
  app.addHook("onSend", (request, reply, payload, done) => {
    if (payload instanceof Readable)
      payload.once("error", (error) => {
        if (!reply.raw.headersSent || reply.raw.destroyed) return;
        const { method, id: requestId } = request;
        const fields = { requestId, method, route: request.routeOptions.url ?? "none", err: error };
        if (isForeseen(error, requestId)) logger.warn(fields, "answer broken off");
        else logger.error(fields, "answer failed");
      });
    done(null, payload);
  });
}

/** What is read was deleted meanwhile, its client reads nothing, its turn to read more did not come. */
function isForeseen(error: unknown, requestId: string): boolean {
  return error instanceof IdleStreamError || errorAnswer(error, requestId).status !== 500;
}

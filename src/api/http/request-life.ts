// The life of a request: under which id it is logged and answered, when it begins, and when it is over.
// It is over once its answer is complete, or its client is gone. Whoever holds something for a request is called back here,
// also where it asks late: a client may go away while anything is waited for.
import type { ServerResponse } from "node:http";
import type { Socket } from "node:net";
import type { FastifyRequest, FastifyInstance } from "fastify";
import { newUuid } from "../../base/domain/random.ts";
import { quoted, ServiceError } from "../../base/domain/service-error.ts";
import type { RequestId } from "../wire/chat/read-chat-request.ts";
import type { Connections } from "./connections.ts";

/** Harmless in a header, a log line and an address; covers what tracing and UUID libraries make. */
const harmless = /^[\w.:/+=@-]{1,128}$/;

type Headers = FastifyRequest["headers"];

/** Under which id a request is logged and answered: the client's own, or a fresh one for one that is not harmless. */
export function idFor(headers: Headers): string {
  const sent = headers["x-request-id"];
  return typeof sent === "string" && harmless.test(sent) ? sent : newUuid();
}

/** The id of a request and whose choice it is. */
export function requestIdOf({ id, headers }: Pick<FastifyRequest, "id" | "headers">): RequestId {
  return { value: id, isChosen: headers["x-request-id"] === id };
}

/**
 * For requests whose answer is named by the header.
 *
 * @throws ServiceError `invalid` for a header that cannot be an id
 */
export function refuseStrangeId({ id, headers }: Pick<FastifyRequest, "id" | "headers">): void {
  const sent = headers["x-request-id"];
  if (sent === undefined || sent === id) return;
  const message = `The header X-Request-Id is ${quoted(String(sent))}; it names the answer, and must have 1 to 128 of the letters a-z and A-Z, digits, and _ . : / + = @ -.`;
  const location = ["header", "x-request-id"];
  throw new ServiceError({ code: "invalid", faults: [{ location, message, type: "value_error" }] });
}

declare module "fastify" {
  interface FastifyRequest {
    /** What answers the request; for {@link onceOver} where the reply is not at hand. */
    response: ServerResponse;
  }
}

/** More than this many would be a leak. */
const closeListenersMax = 20;

/**
 * Begins a request when its answer has the connection, not while another is answered there: a response that never gets
 * the connection never closes, and whatever is held for it would be held for ever. And when it is its turn of the event
 * loop. To be called before any other hook is added.
 */
export function beginInTurn(app: FastifyInstance, connections: Pick<Connections, "inTurn">): void {
  app.decorateRequest("response", null as unknown as ServerResponse);
  app.addHook("onRequest", (request, { raw }, done) => {
    request.response = raw;
    // Each part of what is held for a request listens for its end, and so does a stream that answers it.
    raw.setMaxListeners(closeListenersMax);
    const begin = (socket: Socket): void => connections.inTurn(socket, done);
    if (raw.socket === null) raw.once("socket", begin);
    else begin(raw.socket);
  });
}

/** Who is called back at the end of each response: one listener for all, since Node warns of more than ten. */
const waiting = new WeakMap<ServerResponse, (() => void)[]>();

/** Calls back once when the answer is complete or the client is gone: at once where that is so already. */
export function onceOver(response: ServerResponse, callback: () => void): void {
  if (response.destroyed) return callback();
  const others = waiting.get(response);
  if (others !== undefined) {
    others.push(callback);
    return;
  }
  const all = [callback];
  waiting.set(response, all);
  response.once("close", () => {
    for (const one of all) one();
  });
}

export function wentAway(cause?: unknown): ServiceError {
  return new ServiceError({ code: "cancelled", message: "The client went away.", cause });
}

/**
 * The error to answer for work that a request's signal ended: the signal's reason, since the work knows only that it
 * was cancelled; any other error as it is.
 */
export function endedFor(error: unknown, { aborted, reason }: AbortSignal): unknown {
  const isCancelled = error instanceof ServiceError && error.code === "cancelled";
  return aborted && isCancelled ? (reason as unknown) : error;
}

/** The result; what it rejects with is replaced by what `errorFor` makes of it. */
export async function mapErrors<Result>(
  result: Promise<Result>,
  errorFor: (error: unknown) => unknown,
): Promise<Result> {
  try {
    return await result;
  } catch (error) {
    throw errorFor(error);
  }
}

/** The result; an error that only says that the signal ended it is replaced by the signal's reason. */
export function untilLeft<Result>(result: Promise<Result>, signal: AbortSignal): Promise<Result> {
  return mapErrors(result, (error) => endedFor(error, signal));
}

// Life cycle of a request: its id, its beginning, and its end. A request ends when its answer is complete or the client
// has disconnected. A callback that is registered after the end runs immediately, because a client may disconnect at
// any time.
import type { ServerResponse } from "node:http";
import type { Socket } from "node:net";
import type { FastifyRequest, FastifyInstance } from "fastify";
import { newUuid } from "../../base/domain/random.ts";
import { quoted, ServiceError } from "../../base/domain/service-error.ts";
import type { RequestId } from "../wire/chat/read-chat-request.ts";
import type { Connections } from "./connections.ts";

/** Matches ids that are safe in a header, a log line and a URL, such as the ids of tracing and UUID libraries. */
const harmless = /^[\w.:/+=@-]{1,128}$/;

type Headers = FastifyRequest["headers"];

/**
 * Returns the id of a request, which appears in logs and in the answer. It is the client's X-Request-Id if that is
 * safe, otherwise a new id.
 */
export function idFor(headers: Headers): string {
  const sent = headers["x-request-id"];
  return typeof sent === "string" && harmless.test(sent) ? sent : newUuid();
}

/**
 * Returns the id of a request that calls a model. In a rollout, an id that the client chose gets a unique suffix.
 * Without the suffix, two calls with the same id, even in different rollouts, would overwrite each other's recording.
 */
export function requestIdOf({
  id,
  headers,
  caller,
}: Pick<FastifyRequest, "id" | "headers" | "caller">): RequestId {
  const isOfRollout = (caller.rollout ?? null) !== null;
  return {
    value: id,
    isChosen: headers["x-request-id"] === id,
    ...(isOfRollout && { suffix: `-${newUuid()}` }),
  };
}

/**
 * Refuses an invalid X-Request-Id, on routes where the header becomes the id of the answer.
 *
 * @throws ServiceError `invalid` for a header that cannot be an id
 */
export function refuseInvalidRequestId({ id, headers }: Pick<FastifyRequest, "id" | "headers">): void {
  const sent = headers["x-request-id"];
  if (sent === undefined || sent === id) return;
  const message = `The header X-Request-Id is ${quoted(String(sent))}; it names the answer, and must have 1 to 128 of the letters a-z and A-Z, digits, and _ . : / + = @ -.`;
  const location = ["header", "x-request-id"];
  throw new ServiceError({ code: "invalid", faults: [{ location, message, type: "value_error" }] });
}

declare module "fastify" {
  interface FastifyRequest {
    /** Response to this request, for code that has no Fastify reply and calls {@link onResponseEnd}. */
    response: ServerResponse;
  }
}

/** Number of `close` listeners of a response above which Node warns of a leak. */
const closeListenersMax = 20;

/**
 * Delays a request until the connection is free for its response, and then until its turn in the event loop. A
 * pipelined response that never gets the connection also never closes, so it would never release the resources that its
 * request had taken. Call this function before any other hook is added.
 */
export function beginInTurn(app: FastifyInstance, connections: Pick<Connections, "inTurn">): void {
  app.decorateRequest("response", null as unknown as ServerResponse);
  app.addHook("onRequest", (request, { raw }, done) => {
    request.response = raw;
    // Each resource that is taken for a request adds a listener for the end of the response. A stream that answers the
    // request adds another.
    raw.setMaxListeners(closeListenersMax);
    const begin = (socket: Socket): void => connections.inTurn(socket, done);
    if (raw.socket === null) raw.once("socket", begin);
    else begin(raw.socket);
  });
}

/** Callbacks for the end of each response. They share one listener, because Node warns about more than ten. */
const waiting = new WeakMap<ServerResponse, (() => void)[]>();

/**
 * Calls `callback` once, when the answer is complete or the client has disconnected. If that has already happened,
 * calls it immediately.
 */
export function onResponseEnd(response: ServerResponse, callback: () => void): void {
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

export function clientDisconnected(cause?: unknown): ServiceError {
  return new ServiceError({ code: "cancelled", message: "The client went away.", cause });
}

/**
 * Returns the signal's reason if the signal cancelled the work, because the error itself only says that the work was
 * cancelled. Returns other errors unchanged.
 */
export function toAbortReason(error: unknown, { aborted, reason }: AbortSignal): unknown {
  const isCancelled = error instanceof ServiceError && error.code === "cancelled";
  return aborted && isCancelled ? (reason as unknown) : error;
}

/** Returns the result of the promise. If it rejects, throws the error that `errorFor` returns instead. */
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

/** Returns the result of the promise. If the signal cancelled the work, rejects with the signal's reason. */
export function untilDisconnected<Result>(result: Promise<Result>, signal: AbortSignal): Promise<Result> {
  return mapErrors(result, (error) => toAbortReason(error, signal));
}

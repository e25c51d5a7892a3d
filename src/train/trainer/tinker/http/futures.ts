// Fetches the results of a server's futures by long polling. A future is an operation that the server has accepted, and
// whose result it returns later.
import type { Clock } from "../../../../base/domain/clock.ts";
import { ServiceError } from "../../../../base/domain/service-error.ts";
import { type TinkerConnection, Unanswered } from "./connection.ts";
import { garbled, isTransient, jsonOf, reasonOf, refusalOf, type Reply } from "./refusals.ts";
import { jsonType } from "../wire/encoding.ts";

export interface FutureOptions {
  /** Name of the operation for error messages, as in "refused …". */
  readonly what: string;
  readonly accept?: string;
  readonly signal?: AbortSignal | undefined;
}

export interface FutureLimits {
  /**
   * Timeout of an operation in milliseconds. It includes the wait for earlier operations in the server's queue. For a
   * first operation, it also includes the time in which the server loads the model.
   */
  readonly operationMs: number;
  /** Timeout of one poll in milliseconds, shorter than the request timeouts of servers and proxies. */
  readonly pollMs: number;
  /** Maximum time in milliseconds that the server may give no answer at all. */
  readonly silenceMs: number;
  /** Minimum time in milliseconds from the start of one poll to the start of the next. */
  readonly pauseMs: number;
}

export const futureLimits: FutureLimits = {
  operationMs: 3_600_000,
  pollMs: 45_000,
  silenceMs: 120_000,
  pauseMs: 1000,
};

/**
 * Error for a future whose result the server no longer has, because hosted servers keep results only for a while. The
 * operation itself may have been carried out.
 */
export class ForgottenFuture extends ServiceError {}

export class Futures {
  readonly #connection: TinkerConnection;
  readonly #clock: Clock;
  readonly #limits: FutureLimits;
  /** Called after each response, which shows that the server is alive. */
  readonly #onHeartbeat: () => void;

  constructor(
    connection: TinkerConnection,
    {
      clock,
      limits = {},
      onHeartbeat = () => undefined,
    }: { readonly clock: Clock; readonly limits?: Partial<FutureLimits>; readonly onHeartbeat?: () => void },
  ) {
    this.#connection = connection;
    this.#clock = clock;
    this.#limits = { ...futureLimits, ...limits };
    this.#onHeartbeat = onHeartbeat;
  }

  /**
   * Waits for the result of an operation.
   *
   * @param requestId name of the future
   * @throws ServiceError `unsupported` if the operation failed permanently; `unavailable` if the server lost it or does
   * not answer; `cancelled`; ForgottenFuture, whose code is also `unavailable`
   */
  async result(requestId: string, { what, accept = jsonType, signal }: FutureOptions): Promise<Reply> {
    const { operationMs, pollMs, silenceMs } = this.#limits;
    const beganMs = this.#clock.monotonicMs();
    let heardMs = beganMs;
    for (;;) {
      const askedMs = this.#clock.monotonicMs();
      if (askedMs - beganMs > operationMs)
        throw lost(`The trainer has not finished ${what} within ${operationMs / 1000} s.`);
      const reply = await this.#poll({ requestId, accept, timeoutMs: pollMs, signal });
      const nowMs = this.#clock.monotonicMs();
      if (reply === null || (isTransient(reply) && reply.status !== 408)) {
        if (nowMs - heardMs > silenceMs)
          throw lost(`The trainer at ${this.#connection.url} has not answered for ${silenceMs / 1000} s.`);
      } else {
        heardMs = nowMs;
        this.#onHeartbeat();
        const result = resultOf(reply, what);
        if (result !== null) return result;
      }
      // Pauses only if the poll took less than the minimum time.
      const restMs = this.#limits.pauseMs - (nowMs - askedMs);
      if (restMs > 0) await this.#pause(restMs, signal);
    }
  }

  /**
   * Polls once. Returns null if the server does not answer. If the poll times out but the server answers a health
   * check, the result counts as pending.
   */
  async #poll({
    requestId,
    accept,
    timeoutMs,
    signal,
  }: {
    readonly requestId: string;
    readonly accept: string;
    readonly timeoutMs: number;
    readonly signal: AbortSignal | undefined;
  }): Promise<Reply | null> {
    const json = { request_id: requestId, allow_metadata_only: false };
    try {
      return await this.#connection.once({ path: "retrieve_future", json, accept, timeoutMs }, { signal });
    } catch (error) {
      if (!(error instanceof Unanswered)) throw error;
      return error.hasTimedOut ? await this.#sign(signal) : null;
    }
  }

  /**
   * Sends a health check. If the server responds, returns an answer with the meaning "result pending"; otherwise null.
   */
  async #sign(signal: AbortSignal | undefined): Promise<Reply | null> {
    try {
      const reply = await this.#connection.once(
        { method: "GET", path: "healthz", timeoutMs: this.#limits.pollMs },
        { signal },
      );
      return { ...reply, status: isTransient(reply) ? reply.status : 408 };
    } catch (error) {
      if (error instanceof Unanswered) return null;
      throw error;
    }
  }

  async #pause(durationMs: number, signal: AbortSignal | undefined): Promise<void> {
    await this.#clock.sleep(durationMs, signal === undefined ? {} : { signal }).catch((cause: unknown) => {
      throw new ServiceError({ code: "cancelled", message: "The trainer's call was aborted.", cause });
    });
  }
}

/** Returns the answer if it contains the result; null if the result is still pending. */
function resultOf(reply: Reply, what: string): Reply | null {
  if (reply.status === 408) return null;
  if (reply.status === 410)
    throw new ForgottenFuture({
      code: "unavailable",
      message: `The trainer has forgotten ${what} (${reasonOf(reply)}).`,
    });
  if (reply.status !== 200) throw refusalOf(reply, what);
  if (reply.contentType !== jsonType) return reply;
  const { type, error, category, error_message: message } = jsonOf(reply, what);
  if (type === "try_again") return null;
  if (type === "RequestFailedResponse") throw failed(what, message);
  if (error === undefined) return reply;
  if (category === "user") throw failed(what, error);
  throw lost(`The trainer failed at ${what}: ${JSON.stringify(error)}.`);
}

/**
 * Returns the name of the future in the server's answer to an operation.
 *
 * @throws ServiceError `unavailable` if the answer contains no name of a future
 */
export function requestIdOf(reply: Reply, what: string): string {
  const { request_id: requestId, future_id: futureId } = jsonOf(reply, what);
  const id = requestId ?? futureId;
  if (typeof id === "string" || typeof id === "number") return String(id);
  throw garbled(what, "no request_id");
}

function failed(what: string, reason: unknown): ServiceError {
  return new ServiceError({
    code: "unsupported",
    message: `The trainer refused ${what}: ${String(reason)}.`,
  });
}

function lost(message: string): ServiceError {
  return new ServiceError({ code: "unavailable", message });
}

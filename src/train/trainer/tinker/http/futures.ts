// Results that a server promises: asked for, one long poll after the other, until they are there.
import type { Clock } from "../../../../base/domain/clock.ts";
import { ServiceError } from "../../../../base/domain/service-error.ts";
import { type TinkerConnection, Unanswered } from "./connection.ts";
import { garbled, isPassing, jsonOf, reasonOf, refusalOf, type Reply } from "./refusals.ts";
import { jsonType } from "../wire/encoding.ts";

export interface FutureOptions {
  /** What was asked for, as in "refused …". */
  readonly what: string;
  readonly accept?: string;
  readonly signal?: AbortSignal | undefined;
}

export interface FutureLimits {
  /** How long an operation may take, with what was queued before it: the first one of a server may load its model. */
  readonly operationMs: number;
  /** Of one poll; below what servers and proxies end requests at. */
  readonly pollMs: number;
  /** For how long a server may be silent altogether. */
  readonly silenceMs: number;
  /** Between polls that failed or came back at once. */
  readonly pauseMs: number;
}

export const futureLimits: FutureLimits = {
  operationMs: 3_600_000,
  pollMs: 45_000,
  silenceMs: 120_000,
  pauseMs: 1000,
};

/** A promise that the server has forgotten: hosted servers keep them for some time. The operation may have been done. */
export class ForgottenPromise extends ServiceError {}

export class Futures {
  readonly #connection: TinkerConnection;
  readonly #clock: Clock;
  readonly #limits: FutureLimits;
  /** Called with each answer, which shows that the server is there. */
  readonly #onSign: () => void;

  constructor(
    connection: TinkerConnection,
    {
      clock,
      limits = {},
      onSign = () => undefined,
    }: { readonly clock: Clock; readonly limits?: Partial<FutureLimits>; readonly onSign?: () => void },
  ) {
    this.#connection = connection;
    this.#clock = clock;
    this.#limits = { ...futureLimits, ...limits };
    this.#onSign = onSign;
  }

  /**
   * The result of an operation.
   *
   * @param requestId as the promise says it
   * @throws ServiceError `unsupported` when the operation failed for what it was, `unavailable` when the server lost it or
   *   does not answer, `cancelled`; ForgottenPromise, which is `unavailable` too
   */
  async result(requestId: string, { what, accept = jsonType, signal }: FutureOptions): Promise<Reply> {
    const { operationMs, pollMs, silenceMs } = this.#limits;
    const beganMs = this.#clock.monotonicMs();
    let heardMs = beganMs;
    for (;;) {
      const askedMs = this.#clock.monotonicMs();
      if (askedMs - beganMs > operationMs)
        throw lost(`The trainer has not done ${what} within ${operationMs / 1000} s.`);
      const reply = await this.#poll({ requestId, accept, timeoutMs: pollMs, signal });
      const nowMs = this.#clock.monotonicMs();
      if (reply === null || (isPassing(reply) && reply.status !== 408)) {
        if (nowMs - heardMs > silenceMs)
          throw lost(`The trainer at ${this.#connection.url} has not answered for ${silenceMs / 1000} s.`);
      } else {
        heardMs = nowMs;
        this.#onSign();
        const result = resultOf(reply, what);
        if (result !== null) return result;
      }
      // A long poll that ended late goes on at once.
      const restMs = this.#limits.pauseMs - (nowMs - askedMs);
      if (restMs > 0) await this.#pause(restMs, signal);
    }
  }

  /** Null without an answer. A poll that took too long is as one that has nothing yet, where the server is there. */
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

  /** Whether the server is there, as an answer to a poll that is to come again. */
  async #sign(signal: AbortSignal | undefined): Promise<Reply | null> {
    try {
      const reply = await this.#connection.once(
        { method: "GET", path: "healthz", timeoutMs: this.#limits.pollMs },
        { signal },
      );
      return { ...reply, status: isPassing(reply) ? reply.status : 408 };
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

/** Null where there is none yet. */
function resultOf(reply: Reply, what: string): Reply | null {
  if (reply.status === 408) return null;
  if (reply.status === 410)
    throw new ForgottenPromise({
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

/** The name that a promise gives its future. @throws ServiceError `unavailable` where there is none */
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

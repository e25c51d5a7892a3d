// Requests to a server of the Tinker API: each with a deadline, tried again where that has no second effect, with waits that
// grow and are never alike. Knows nothing of what is asked.
import type { Clock } from "../../../../base/domain/clock.ts";
import { retryAfterSeconds } from "../../../../base/domain/waiting/retry-after.ts";
import { freshSeed } from "../../../../base/domain/random.ts";
import { ServiceError } from "../../../../base/domain/service-error.ts";
import { HttpClient, type HttpAnswer } from "../../../../base/http-client/http-client.ts";
import { HttpFailure, reasonOf as systemReason } from "../../../../base/http-client/http-failure.ts";
import { readBytes } from "../../../../base/http-client/read-answer.ts";
import type { EncodedRequest } from "../wire/encoding.ts";
import { jsonType } from "../wire/encoding.ts";
import { away, isPassing, type Reply, reasonOf } from "./refusals.ts";

export interface ConnectionOptions {
  /** Without `/api/v1`. */
  readonly url: string;
  /** Sent as `x-api-key`; servers without keys take any. */
  readonly apiKey: string;
  readonly clock: Clock;
  readonly limits?: Partial<ConnectionLimits>;
}

export interface ConnectionLimits {
  /** How long a request may take. */
  readonly requestMs: number;
  /** For how long one is tried again. */
  readonly patienceMs: number;
  /** The first wait, which doubles. */
  readonly pauseMs: number;
  readonly pauseMsMax: number;
  /** Of an answer that is read whole. */
  readonly answerBytesMax: number;
}

const defaults: ConnectionLimits = {
  requestMs: 60_000,
  patienceMs: 60_000,
  pauseMs: 500,
  pauseMsMax: 10_000,
  // A thousand sequences of a hundred thousand tokens, as floats.
  answerBytesMax: 1 << 29,
};

export interface Asked {
  readonly method?: "GET" | "POST" | "DELETE";
  /** Below `/api/v1`. */
  readonly path: string;
  /** Sent as JSON. */
  readonly json?: unknown;
  /** Sent as it is. */
  readonly encoded?: EncodedRequest;
  readonly accept?: string;
  /** How long the answer may take; as long as any request unless given. */
  readonly timeoutMs?: number;
}

export interface AskOptions {
  /** Whether the same request may come a second time. One that never arrived may, whatever is said here. */
  readonly isRepeatable: boolean;
  readonly signal?: AbortSignal | undefined;
}

/** What is known of a request that got no answer. */
export class Unanswered extends Error {
  /** Whether it may have. */
  readonly hasArrived: boolean;
  readonly hasTimedOut: boolean;

  constructor(
    message: string,
    known: { readonly hasArrived: boolean; readonly hasTimedOut: boolean; readonly cause: unknown },
  ) {
    super(message, { cause: known.cause });
    this.hasArrived = known.hasArrived;
    this.hasTimedOut = known.hasTimedOut;
  }
}

export class TinkerConnection {
  readonly url: string;
  readonly #options: ConnectionOptions;
  readonly #client = new HttpClient();
  readonly #limits: ConnectionLimits;

  constructor(options: ConnectionOptions) {
    this.url = options.url;
    this.#options = options;
    this.#limits = { ...defaults, ...options.limits };
  }

  /**
   * Asks until there is an answer that is no passing trouble, or patience is over.
   *
   * @returns any answer but one that trying again may better
   * @throws ServiceError `unavailable` when there is none, `cancelled` when the signal aborted
   */
  async ask(asked: Asked, { isRepeatable, signal }: AskOptions): Promise<Reply> {
    const { clock } = this.#options;
    const { pauseMs, pauseMsMax, patienceMs } = this.#limits;
    const beganMs = clock.monotonicMs();
    for (let failedCount = 0; ; failedCount++) {
      let reply: Reply | null = null;
      let failure: ServiceError;
      try {
        reply = await this.once(asked, { signal });
        if (!isPassing(reply)) return reply;
        failure = this.#away(asked, reasonOf(reply));
      } catch (error) {
        if (!(error instanceof Unanswered)) throw error;
        failure = this.#away(asked, error.message, error);
        if (error.hasArrived && !isRepeatable) throw failure;
      }
      // A server that is too busy has not begun; of one that failed nobody knows.
      if (reply !== null && reply.status >= 500 && reply.status !== 503 && !isRepeatable) throw failure;
      const full = Math.min(pauseMs * 2 ** failedCount, pauseMsMax);
      const waitMs = Math.max(
        full * (0.5 + chance() / 2),
        Math.min((reply?.retryAfterSeconds ?? 0) * 1000, patienceMs),
      );
      if (clock.monotonicMs() - beganMs + waitMs > patienceMs) throw failure;
      await clock.sleep(waitMs, signal === undefined ? {} : { signal }).catch((cause: unknown) => {
        throw cancelled(cause);
      });
    }
  }

  /**
   * Asks once, for callers who go on in their own way.
   *
   * @throws Unanswered without an answer; ServiceError `cancelled` when the signal aborted
   */
  async once(
    { method = "POST", path, json, encoded, accept = jsonType, timeoutMs = this.#limits.requestMs }: Asked,
    { signal }: { readonly signal?: AbortSignal | undefined } = {},
  ): Promise<Reply> {
    const body = encoded?.body ?? (json === undefined ? null : JSON.stringify(json));
    const late = AbortSignal.timeout(timeoutMs);
    try {
      const answer = await this.#client.send({
        method,
        url: new URL(this.urlOf(path)),
        headers: {
          accept,
          "x-api-key": this.#options.apiKey,
          ...(body === null ? {} : { "content-type": encoded?.contentType ?? jsonType }),
        },
        body,
        signal: signal === undefined ? late : AbortSignal.any([late, signal]),
      });
      return {
        status: answer.status,
        contentType: (answer.header("content-type") ?? "").split(";", 1)[0].trim().toLowerCase(),
        body: await readBytes(answer.body, this.#limits.answerBytesMax),
        location: answer.header("location"),
        retryAfterSeconds: retryAfterSeconds(answer.header("retry-after")),
      };
    } catch (error) {
      if (signal?.aborted === true) throw cancelled(signal.reason);
      const hasTimedOut = error === late.reason;
      throw new Unanswered(hasTimedOut ? `no answer within ${timeoutMs / 1000} s` : systemReason(error), {
        hasArrived: !(error instanceof HttpFailure) || error.wasSent,
        hasTimedOut,
        cause: error,
      });
    }
  }

  /**
   * Opens an address to be read as it comes; the key goes to this server alone.
   *
   * @throws ServiceError `unavailable`; what comes of the body throws what reading it does
   */
  async open(url: string): Promise<HttpAnswer> {
    const headers: Record<string, string> = this.isOwn(url) ? { "x-api-key": this.#options.apiKey } : {};
    const signal = AbortSignal.timeout(10 * this.#limits.requestMs);
    try {
      return await this.#client.send({ url: new URL(url), headers, refusesRedirects: true, signal });
    } catch (error) {
      throw away(`The trainer's archive cannot be fetched (${systemReason(error)}).`, error);
    }
  }

  /** Whether an address is this server's. */
  isOwn(url: string): boolean {
    return new URL(url).origin === new URL(this.url).origin;
  }

  /** Where a path below `/api/v1` is. */
  urlOf(path: string): string {
    return `${this.url}/api/v1/${path}`;
  }

  #away({ path }: Asked, reason: string, cause?: unknown): ServiceError {
    return new ServiceError({
      code: "unavailable",
      message: `The trainer at ${this.url} did not answer ${path} (${reason}).`,
      cause,
    });
  }
}

/** In [0, 1). */
function chance(): number {
  return freshSeed() / 2 ** 48;
}

function cancelled(cause: unknown): ServiceError {
  return new ServiceError({ code: "cancelled", message: "The trainer's call was aborted.", cause });
}

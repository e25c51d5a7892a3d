// Sends HTTP requests to a Tinker API server. Each request has a timeout. After a transient failure, retries it with
// randomized exponential back-off, unless the server might carry it out twice.
import type { Clock } from "../../../../base/domain/clock.ts";
import { retryAfterSeconds } from "../../../../base/domain/waiting/retry-after.ts";
import { freshSeed } from "../../../../base/domain/random.ts";
import { ServiceError } from "../../../../base/domain/service-error.ts";
import { HttpClient, type HttpAnswer } from "../../../../base/http-client/http-client.ts";
import { HttpFailure, describeFailure as systemReason } from "../../../../base/http-client/http-failure.ts";
import { readBytes } from "../../../../base/http-client/read-answer.ts";
import type { EncodedRequest } from "../wire/encoding.ts";
import { jsonType } from "../wire/encoding.ts";
import { trainerUnavailable, isTransient, type Reply, reasonOf } from "./refusals.ts";

export interface ConnectionOptions {
  /** URL of the server, without `/api/v1`. */
  readonly url: string;
  /** API key, sent as `x-api-key`. Servers that require no key accept any. */
  readonly apiKey: string;
  readonly clock: Clock;
  readonly limits?: Partial<ConnectionLimits>;
}

export interface ConnectionLimits {
  /** Timeout of one request in milliseconds. */
  readonly requestMs: number;
  /** Maximum total time in milliseconds of a request with all its retries. */
  readonly patienceMs: number;
  /** First back-off in milliseconds; each further retry doubles it. */
  readonly pauseMs: number;
  readonly pauseMsMax: number;
  /** Maximum size in bytes of an answer that is read into memory. */
  readonly answerBytesMax: number;
}

const defaults: ConnectionLimits = {
  requestMs: 60_000,
  patienceMs: 60_000,
  pauseMs: 500,
  pauseMsMax: 10_000,
  // Enough for the log-probabilities of a thousand sequences of a hundred thousand tokens.
  answerBytesMax: 1 << 29,
};

export interface Asked {
  readonly method?: "GET" | "POST" | "DELETE";
  /** URL path below `/api/v1`. */
  readonly path: string;
  /** Request body, to be sent as JSON. */
  readonly json?: unknown;
  /** Request body that is already encoded, to be sent unchanged. */
  readonly encoded?: EncodedRequest;
  readonly accept?: string;
  /** Timeout of this request in milliseconds; `requestMs` if absent. */
  readonly timeoutMs?: number;
}

export interface AskOptions {
  /**
   * True if the request has no second effect when the server receives it twice. A request that certainly did not reach
   * the server is retried in any case.
   */
  readonly isRepeatable: boolean;
  readonly signal?: AbortSignal | undefined;
}

/** Error of a request to which the server sent no answer. */
export class Unanswered extends Error {
  /** True if the request may have reached the server. */
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
   * Sends a request, and retries it after transient failures until the time limit.
   *
   * @returns an answer that is not a transient failure
   * @throws ServiceError `unavailable` if there was no such answer; `cancelled` if the signal aborted
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
        if (!isTransient(reply)) return reply;
        failure = this.#trainerUnavailable(asked, reasonOf(reply));
      } catch (error) {
        if (!(error instanceof Unanswered)) throw error;
        failure = this.#trainerUnavailable(asked, error.message, error);
        if (error.hasArrived && !isRepeatable) throw failure;
      }
      // Status 503 means that the server has not begun to process the request. With other server errors, it may have.
      if (reply !== null && reply.status >= 500 && reply.status !== 503 && !isRepeatable) throw failure;
      const full = Math.min(pauseMs * 2 ** failedCount, pauseMsMax);
      const waitMs = Math.max(
        full * (0.5 + randomFraction() / 2),
        Math.min((reply?.retryAfterSeconds ?? 0) * 1000, patienceMs),
      );
      if (clock.monotonicMs() - beganMs + waitMs > patienceMs) throw failure;
      await clock.sleep(waitMs, signal === undefined ? {} : { signal }).catch((cause: unknown) => {
        throw cancelled(cause);
      });
    }
  }

  /**
   * Sends a request once, for callers that retry it themselves.
   *
   * @throws Unanswered if there is no answer; ServiceError `cancelled` if the signal aborted
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
   * Requests a URL and returns the answer, whose body the caller streams. Sends the API key only if the URL belongs to
   * this server.
   *
   * @throws ServiceError `unavailable`; reading the body may throw other errors
   */
  async open(url: string): Promise<HttpAnswer> {
    const headers: Record<string, string> = this.isOwn(url) ? { "x-api-key": this.#options.apiKey } : {};
    const signal = AbortSignal.timeout(10 * this.#limits.requestMs);
    try {
      return await this.#client.send({ url: new URL(url), headers, refusesRedirects: true, signal });
    } catch (error) {
      throw trainerUnavailable(`The trainer's archive cannot be fetched (${systemReason(error)}).`, error);
    }
  }

  /** True if the URL has the origin of this server. */
  isOwn(url: string): boolean {
    return new URL(url).origin === new URL(this.url).origin;
  }

  /** Returns the URL of a path below `/api/v1`. */
  urlOf(path: string): string {
    return `${this.url}/api/v1/${path}`;
  }

  #trainerUnavailable({ path }: Asked, reason: string, cause?: unknown): ServiceError {
    return new ServiceError({
      code: "unavailable",
      message: `The trainer at ${this.url} did not answer ${path} (${reason}).`,
      cause,
    });
  }
}

/** Returns a random number in [0, 1). */
function randomFraction(): number {
  return freshSeed() / 2 ** 48;
}

function cancelled(cause: unknown): ServiceError {
  return new ServiceError({ code: "cancelled", message: "The trainer's call was aborted.", cause });
}

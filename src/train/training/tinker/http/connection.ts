// Requests to a server of the Tinker API: each with a deadline, tried again where that has no second effect, with waits that
// grow and are never alike. Knows nothing of what is asked.
import type { Clock } from "../../../../base/domain/clock.ts";
import { retryAfterSeconds } from "../../../../base/domain/waiting/retry-after.ts";
import { freshSeed } from "../../../../base/domain/random.ts";
import { ServiceError } from "../../../../base/domain/service-error.ts";
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
  async once(asked: Asked, { signal }: { readonly signal?: AbortSignal | undefined } = {}): Promise<Reply> {
    const { response, end } = await this.#send(asked, signal);
    try {
      return await this.#read(response);
    } catch (error) {
      throw this.#failureOf(error, signal, true);
    } finally {
      end();
    }
  }

  /**
   * Opens an address to be read as it comes; the key goes to this server alone.
   *
   * @throws ServiceError `unavailable`; what comes of the body throws what reading it does
   */
  async open(url: string): Promise<Response> {
    const headers: Record<string, string> = this.isOwn(url) ? { "x-api-key": this.#options.apiKey } : {};
    try {
      return await fetch(url, {
        headers,
        redirect: "error",
        signal: AbortSignal.timeout(10 * this.#limits.requestMs),
      });
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

  async #send(
    { method = "POST", path, json, encoded, accept = jsonType, timeoutMs = this.#limits.requestMs }: Asked,
    signal: AbortSignal | undefined,
  ): Promise<{ readonly response: Response; readonly end: () => void }> {
    const body = encoded?.body ?? (json === undefined ? null : JSON.stringify(json));
    const timeout = new AbortController();
    const timer = setTimeout(
      () => timeout.abort(new TimedOut(`no answer within ${timeoutMs / 1000} s`)),
      timeoutMs,
    );
    const end = (): void => clearTimeout(timer);
    try {
      const response = await fetch(this.urlOf(path), {
        method,
        headers: {
          accept,
          "x-api-key": this.#options.apiKey,
          ...(body === null ? {} : { "content-type": encoded?.contentType ?? jsonType }),
        },
        body,
        redirect: "manual",
        signal: signal === undefined ? timeout.signal : AbortSignal.any([timeout.signal, signal]),
      });
      return { response, end };
    } catch (error) {
      end();
      throw this.#failureOf(error, signal, !neverArrived.has(systemReason(error)));
    }
  }

  async #read(response: Response): Promise<Reply> {
    const { answerBytesMax } = this.#limits;
    const parts: Uint8Array[] = [];
    let length = 0;
    // Node's streams can be iterated; the types are those of browsers, where not all can.
    for await (const part of (response.body ?? []) as unknown as AsyncIterable<Uint8Array>) {
      length += part.length;
      if (length > answerBytesMax) throw new Error(`an answer of more than ${answerBytesMax} bytes`);
      parts.push(part);
    }
    const { headers, status } = response;
    return {
      status,
      contentType: (headers.get("content-type") ?? "").split(";", 1)[0].trim().toLowerCase(),
      body: Buffer.concat(parts),
      location: headers.get("location"),
      retryAfterSeconds: retryAfterSeconds(headers.get("retry-after")),
    };
  }

  #failureOf(error: unknown, signal: AbortSignal | undefined, hasArrived: boolean): Error {
    if (signal?.aborted === true) return cancelled(signal.reason);
    const hasTimedOut = error instanceof TimedOut;
    return new Unanswered(systemReason(error), { hasArrived, hasTimedOut, cause: error });
  }

  #away({ path }: Asked, reason: string, cause?: unknown): ServiceError {
    return new ServiceError({
      code: "unavailable",
      message: `The trainer at ${this.url} did not answer ${path} (${reason}).`,
      cause,
    });
  }
}

/** What the system says where no connection came to be. */
const neverArrived: ReadonlySet<string> = new Set([
  "ECONNREFUSED",
  "ENOTFOUND",
  "EAI_AGAIN",
  "EHOSTUNREACH",
  "UND_ERR_CONNECT_TIMEOUT",
]);

class TimedOut extends Error {}

/** In [0, 1). */
function chance(): number {
  return freshSeed() / 2 ** 48;
}

function cancelled(cause: unknown): ServiceError {
  return new ServiceError({ code: "cancelled", message: "The trainer's call was aborted.", cause });
}

/** The system's word for what went wrong, which `fetch` has as the cause of its own error. */
function systemReason(error: unknown): string {
  for (let at = error; at instanceof Error; at = at.cause) {
    if ("code" in at && typeof at.code === "string" && at.code !== "") return at.code;
    if (!(at.cause instanceof Error)) return at.message;
  }
  return String(error);
}

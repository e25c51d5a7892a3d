// Client for the server's outgoing HTTP requests: pooled connections, a timeout for each phase, no redirects, no
// decompression. It loads undici, which manages the connections, at the first request.
import type { LookupFunction } from "node:net";
import type { Readable } from "node:stream";
import type { Dispatcher } from "undici";
import { unlessAborted } from "../domain/waiting/unless-aborted.ts";
import { failureOf, HttpFailure, HttpTimeout, type Phase } from "./http-failure.ts";

/**
 * Timeouts in milliseconds for the phases of a request. A phase without a timeout ends only when the request's signal
 * aborts.
 */
export interface Timeouts {
  /** Timeout for opening the connection. */
  readonly connectMs?: number;
  /** Timeout for the head of the answer (status and headers). */
  readonly answerMs?: number;
  /** Timeout for the first bytes of the answer's body; by default `answerMs`. */
  readonly firstMs?: number;
  /** Maximum time between two pieces of the body while it is being read. */
  readonly nextMs?: number;
}

export interface FoundAddress {
  readonly address: string;
  readonly family: number;
}

export interface HttpRequest {
  readonly method?: string;
  readonly url: URL;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string | Uint8Array | null;
  readonly timeouts?: Timeouts;
  /** Aborts the request and closes its connection. The client then throws the signal's reason. */
  readonly signal?: AbortSignal | undefined;
  /** If true, a redirect is a failure. Otherwise the client returns the redirect as the answer. */
  readonly refusesRedirects?: boolean;
  /** Addresses that the caller has checked. The request uses one of them, on a separate connection. */
  readonly addresses?: readonly FoundAddress[];
}

export interface HttpAnswer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  /** Returns the value of a header; null if the answer does not have it. The name must be in lower case. */
  readonly header: (name: string) => string | null;
  /**
   * Body of the answer, which can be read only once. A reader that stops early closes the connection.
   *
   * @throws HttpFailure; the signal's reason
   */
  readonly body: AsyncGenerator<Uint8Array, void>;
  /** Skips the part of the body that has not been read. If that part arrives soon, the connection can be used again. */
  readonly release: () => void;
}

/**
 * Maximum time in milliseconds that a pooled connection may be idle. Servers close idle connections (vLLM after 5
 * s), and a request must not use a connection that is about to be closed.
 */
const idleMs = 3000;
/** Maximum time in milliseconds that the operating system tries to connect. Requests have shorter timeouts. */
const connectMsMax = 120_000;
/** Timeout in milliseconds for receiving the part of an answer that is skipped. */
const restMs = 1000;
/** Codes of errors that occur because the other side has closed the connection. */
const closed: readonly string[] = ["ECONNRESET", "EPIPE", "UND_ERR_SOCKET"];

interface Pool {
  readonly dispatcher: Dispatcher;
  /** True while a new connection is about to send its first request. */
  isFresh: boolean;
}

/**
 * Error for a pooled connection that the server closed just as the client took it. The server has seen nothing of the
 * request, so the client can send it again.
 */
class StaleConnection extends Error {}

export class HttpClient {
  #pool: Promise<Pool> | null = null;

  /**
   * Sends a request. Resolves when the head of the answer has arrived.
   *
   * @throws HttpFailure; the signal's reason
   */
  async send(request: HttpRequest): Promise<HttpAnswer> {
    const answer = await this.#send(request);
    if (request.refusesRedirects !== true || !isRedirect(answer)) return answer;
    answer.release();
    throw new HttpFailure("unexpected redirect", { wasSent: true });
  }

  /** Closes all connections. Requests that are using them fail. */
  close(): void {
    void this.#pool?.then(({ dispatcher }) => dispatcher.destroy());
    this.#pool = null;
  }

  async #send(request: HttpRequest): Promise<HttpAnswer> {
    if (request.addresses !== undefined) return await sendAlone(request);
    try {
      return await exchange(await (this.#pool ??= openPool()), request);
    } catch (error) {
      if (!(error instanceof StaleConnection)) throw error;
      return await sendAlone(request);
    }
  }
}

export function isRedirect({ status }: Pick<HttpAnswer, "status">): boolean {
  return [301, 302, 303, 307, 308].includes(status);
}

/** Sends a request on a connection that no other request uses. */
async function sendAlone(request: HttpRequest): Promise<HttpAnswer> {
  const pool = await openPool(request.addresses);
  const answer = exchange(pool, request, true);
  // The pool closes only when the answer has ended.
  void pool.dispatcher.close();
  return await answer;
}

async function openPool(addresses?: readonly FoundAddress[]): Promise<Pool> {
  const { Agent, DecoratorHandler } = await import("./library.ts");
  const agent = new Agent({
    connect: { timeout: connectMsMax, ...(addresses && { lookup: lookupOf(addresses) }) },
    keepAliveTimeout: idleMs,
    keepAliveMaxTimeout: idleMs,
    // These timeouts are disabled, because each request has its own.
    headersTimeout: 0,
    bodyTimeout: 0,
  });
  const dispatcher = agent.compose((dispatch) => (options, handler) => {
    const started: Dispatcher.DispatchHandler = new DecoratorHandler(handler);
    const start = started.onRequestStart?.bind(started);
    started.onRequestStart = (...all) => {
      // Safe cast: `exchange` passes this callback, in order to learn when a connection begins to send the request.
      (options as { readonly opaque?: () => void }).opaque?.();
      start?.(...all);
    };
    return dispatch(options, started);
  });
  const pool = { dispatcher, isFresh: false };
  agent.on("connect", () => {
    // A new connection sends its first request in the same iteration of the event loop.
    pool.isFresh = true;
    queueMicrotask(() => (pool.isFresh = false));
  });
  return pool;
}

async function exchange(pool: Pool, request: HttpRequest, isAlone = false): Promise<HttpAnswer> {
  const { method = "GET", url, headers, body = null, timeouts = {}, signal } = request;
  const { connectMs, answerMs, firstMs = answerMs, nextMs } = timeouts;
  signal?.throwIfAborted();
  const ending = new AbortController();
  const onAbort = (): void => ending.abort(signal?.reason);
  signal?.addEventListener("abort", onAbort, { once: true });
  let timer: NodeJS.Timeout | undefined;
  /**
   * Starts the timeout of a phase, and stops the timeout of the phase before it. Without a duration, the phase has no
   * timeout.
   */
  const startTimeout = (phase: Phase, durationMs: number | undefined): void => {
    clearTimeout(timer);
    if (durationMs === undefined || ending.signal.aborted) return;
    timer = setTimeout(() => ending.abort(new HttpTimeout(phase, durationMs)), durationMs);
  };
  const settle = (): void => {
    clearTimeout(timer);
    signal?.removeEventListener("abort", onAbort);
  };
  let [wasSent, isKept] = [false, false];
  const onStart = (): void => {
    [wasSent, isKept] = [true, !isAlone && !pool.isFresh];
    startTimeout("head", answerMs);
  };
  startTimeout("connection", connectMs);
  try {
    const sending = pool.dispatcher.request({
      origin: url.origin,
      path: url.pathname + url.search,
      method,
      headers,
      body,
      reset: isAlone,
      signal: ending.signal,
      opaque: onStart,
    });
    // undici does not look at the signal while a request waits for a connection, so the wait is aborted here.
    const answer = await unlessAborted(sending, ending.signal);
    startTimeout("first-part", firstMs);
    const { statusCode: status, headers: answered } = answer;
    const header = (name: string): string | null => answered[name]?.toString() ?? null;
    return { status, headers: answered, header, ...readBody(answer.body) };
  } catch (error) {
    settle();
    if (ending.signal.aborted) throw ending.signal.reason;
    const failure = failureOf(error, wasSent);
    throw isKept && closed.includes(failure.code) ? new StaleConnection() : failure;
  }

  function readBody(answer: Dispatcher.ResponseData["body"]): Pick<HttpAnswer, "body" | "release"> {
    let [isReading, isReleased] = [false, false];
    const drain = (): void => {
      settle();
      const limits = { limit: Number.MAX_SAFE_INTEGER, signal: AbortSignal.timeout(restMs) };
      void answer.dump(limits).catch(() => undefined);
    };
    // Without a listener, an error that occurs while nobody reads would end the process. The next read throws the
    // error.
    answer.on("error", () => undefined);
    return {
      body: read(),
      release: () => {
        isReleased = true;
        if (!isReading) drain();
      },
    };

    async function* read(): AsyncGenerator<Uint8Array, void> {
      isReading = true;
      try {
        // Safe casts: an answer is a stream of bytes, while the types allow streams of any values.
        const pieces = (answer as Readable).iterator({ destroyOnReturn: false });
        for await (const piece of pieces as AsyncIterable<Uint8Array>) {
          // The timer stops while the reader is busy, because a slow reader does not mean that the server is slow.
          clearTimeout(timer);
          yield piece;
          startTimeout("next-part", nextMs);
        }
      } catch (error) {
        throw ending.signal.aborted ? ending.signal.reason : failureOf(error, true);
      } finally {
        settle();
        if (isReleased) drain();
        else answer.destroy();
      }
    }
  }
}

/** Returns a lookup function that resolves every name to these addresses. */
function lookupOf(addresses: readonly FoundAddress[]): LookupFunction {
  return (_host, { all }, done) => {
    if (all === true) done(null, [...addresses]);
    else done(null, addresses[0]?.address ?? "", addresses[0]?.family);
  };
}

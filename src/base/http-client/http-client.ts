// Outgoing HTTP requests of the server: pooled connections, a timeout for each phase, no redirects, no decompression.
// Loads undici, which manages the connections, at the first request.
import type { LookupFunction } from "node:net";
import type { Readable } from "node:stream";
import type { Dispatcher } from "undici";
import { unlessAborted } from "../domain/waiting/unless-aborted.ts";
import { failureOf, HttpFailure, HttpTimeout, type Phase } from "./http-failure.ts";

/** Timeouts of a request's phases, in milliseconds. An omitted phase is bounded only by the request's signal. */
export interface Timeouts {
  /** Timeout for opening a connection. */
  readonly connectMs?: number;
  /** Timeout for the head of the answer. */
  readonly answerMs?: number;
  /** Timeout for the first bytes of the answer's body; `answerMs` by default. */
  readonly firstMs?: number;
  /** Maximum pause between bytes of the body while it is being read. */
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
  /** Ends the request and closes its connection; its reason is thrown. */
  readonly signal?: AbortSignal | undefined;
  /** If true, a redirect is a failure; otherwise the redirect itself is the answer. */
  readonly refusesRedirects?: boolean;
  /** Addresses that the caller has checked: the request uses one of them, on a separate connection. */
  readonly addresses?: readonly FoundAddress[];
}

export interface HttpAnswer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  /** Returns a header by its name in lowercase. */
  readonly header: (name: string) => string | null;
  /** Read it once only. A reader that stops early closes the connection. @throws HttpFailure; the signal's reason */
  readonly body: AsyncGenerator<Uint8Array, void>;
  /** Skips the rest of the body, and keeps the connection if the rest arrives soon. */
  readonly release: () => void;
}

/**
 * Maximum idle time of a pooled connection. Servers close idle connections, vLLM after 5 s; one about to be closed
 * must not be used.
 */
const idleMs = 3000;
/** Upper bound for the system's connection attempts; requests have shorter timeouts. */
const connectMsMax = 120_000;
/** Timeout for the skipped rest of an answer. */
const restMs = 1000;
/** Codes of a connection that the other side closed. */
const closed: readonly string[] = ["ECONNRESET", "EPIPE", "UND_ERR_SOCKET"];

interface Pool {
  readonly dispatcher: Dispatcher;
  /** True while a new connection sends its first request. */
  isFresh: boolean;
}

/** Error for a pooled connection that the server closed just as it was taken. The server saw nothing of the request. */
class StaleConnection extends Error {}

export class HttpClient {
  #pool: Promise<Pool> | null = null;

  /**
   * Sends a request and waits for the head of its answer.
   *
   * @throws HttpFailure; the signal's reason
   */
  async send(request: HttpRequest): Promise<HttpAnswer> {
    const answer = await this.#send(request);
    if (request.refusesRedirects !== true || !isRedirect(answer)) return answer;
    answer.release();
    throw new HttpFailure("unexpected redirect", { wasSent: true });
  }

  /** Closes all connections; requests on them fail. */
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

/** Sends a request on a connection that serves no other. */
async function sendAlone(request: HttpRequest): Promise<HttpAnswer> {
  const pool = await openPool(request.addresses);
  const answer = exchange(pool, request, true);
  // Closes the pool once the answer has ended.
  void pool.dispatcher.close();
  return await answer;
}

async function openPool(addresses?: readonly FoundAddress[]): Promise<Pool> {
  const { Agent, DecoratorHandler } = await import("./library.ts");
  const agent = new Agent({
    connect: { timeout: connectMsMax, ...(addresses && { lookup: lookupOf(addresses) }) },
    keepAliveTimeout: idleMs,
    keepAliveMaxTimeout: idleMs,
    // Disabled: each request has its own timeouts.
    headersTimeout: 0,
    bodyTimeout: 0,
  });
  const dispatcher = agent.compose((dispatch) => (options, handler) => {
    const started: Dispatcher.DispatchHandler = new DecoratorHandler(handler);
    const start = started.onRequestStart?.bind(started);
    started.onRequestStart = (...all) => {
      // Safe cast: `exchange` passes this callback to learn when a request starts on a connection.
      (options as { readonly opaque?: () => void }).opaque?.();
      start?.(...all);
    };
    return dispatch(options, started);
  });
  const pool = { dispatcher, isFresh: false };
  agent.on("connect", () => {
    // The first request of a connection is sent in the same turn.
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
  /** Starts the timeout of a phase, replacing the one before; without a duration it never expires. */
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
    // A request that still waits for its connection does not see the signal.
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
    // An error that occurs while no one reads is thrown to the next reader.
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
        // Safe casts: the types are those of streams of any values.
        const pieces = (answer as Readable).iterator({ destroyOnReturn: false });
        for await (const piece of pieces as AsyncIterable<Uint8Array>) {
          // The timer stops while the reader is busy: a slow reader is not a slow server.
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

/** Returns a lookup that always resolves to these addresses, for any name. */
function lookupOf(addresses: readonly FoundAddress[]): LookupFunction {
  return (_host, { all }, done) => {
    if (all === true) done(null, [...addresses]);
    else done(null, addresses[0]?.address ?? "", addresses[0]?.family);
  };
}

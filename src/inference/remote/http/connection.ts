// Requests to one server, over connections that are kept. Every wait has a deadline, nothing is read whole without a limit,
// and redirects are not followed. Knows HTTP alone: what is asked and what an answer means is its callers'.
import {
  Agent as HttpAgent,
  request as httpRequest,
  type ClientRequest,
  type IncomingMessage,
} from "node:http";
import { Agent as HttpsAgent, request as httpsRequest } from "node:https";
import type { Socket } from "node:net";
import { retryAfterSeconds } from "../../../base/domain/waiting/retry-after.ts";
import { AnswerBody } from "./answer-body.ts";
import { createDeadline } from "./deadline.ts";

/** How long what is asked may take, in milliseconds. */
export interface Waits {
  /** Until a connection is there. */
  readonly connectMs: number;
  /** Until the head of the answer is there. */
  readonly answerMs: number;
  /** Until the first of its bytes; as `answerMs` unless given. */
  readonly firstMs?: number;
  /** Between its bytes. */
  readonly nextMs: number;
}

export interface HttpCall {
  readonly method: "GET" | "POST";
  /** With its leading slash. */
  readonly path: string;
  /** Sent as JSON. */
  readonly body?: unknown;
  readonly headers?: Readonly<Record<string, string>>;
  readonly waits: Waits;
  /** Ends it, and closes its connection. */
  readonly signal: AbortSignal;
}

export interface HttpAnswer {
  readonly status: number;
  /** Of Retry-After in seconds; null where there is none. */
  readonly retryAfterSeconds: number | null;
  readonly body: AnswerBody;
}

/** A server that could not be asked, or whose answer broke off; `wasSent` where it may have begun to work. */
export class BrokenConnection extends Error {
  readonly wasSent: boolean;

  constructor(message: string, { wasSent, cause }: { readonly wasSent: boolean; readonly cause: unknown }) {
    super(message, { cause });
    this.wasSent = wasSent;
  }
}

/** Servers close what is idle, vLLM's after 5 s: a connection that they are about to close is not used. */
const idleMs = 3000;

export class Connection {
  readonly #url: URL;
  readonly #agent: HttpAgent | HttpsAgent;
  readonly #headers: Readonly<Record<string, string>>;

  /** @param options.headers of every request */
  constructor(url: URL, { headers }: { readonly headers: Readonly<Record<string, string>> }) {
    const options = { keepAlive: true, timeout: idleMs, scheduling: "lifo" } as const;
    this.#url = url;
    this.#agent = url.protocol === "https:" ? new HttpsAgent(options) : new HttpAgent(options);
    this.#headers = headers;
  }

  /**
   * Sends a request and waits for the head of its answer.
   *
   * @throws BrokenConnection; the signal's reason, and where nothing came in time ServiceError `timeout`, also while the
   *   body is read
   */
  async send(call: HttpCall): Promise<HttpAnswer> {
    try {
      return await this.#send(call);
    } catch (error) {
      // It was closed by the server just when it was taken, as others may be that are kept: nothing of the request was seen.
      if (error instanceof StaleConnection) return await this.#send(call, false);
      throw error;
    }
  }

  close(): void {
    this.#agent.destroy();
  }

  async #send(
    { method, path, body, headers, waits, signal }: HttpCall,
    agent: HttpAgent | HttpsAgent | false = this.#agent,
  ): Promise<HttpAnswer> {
    signal.throwIfAborted();
    let reason: unknown = null;
    const end = (why: unknown): void => {
      reason ??= why;
      sending.destroy();
    };
    const onAbort = (): void => end(signal.reason);
    const deadline = createDeadline(end);
    const onEnd = (): void => {
      deadline.clear();
      signal.removeEventListener("abort", onAbort);
    };
    const bytes = body === undefined ? null : Buffer.from(JSON.stringify(body));
    const sending = this.#request({
      agent,
      method,
      path: joinedPath(this.#url, path),
      headers: {
        ...this.#headers,
        ...headers,
        ...(bytes && { "content-type": "application/json", "content-length": String(bytes.length) }),
      },
    });
    signal.addEventListener("abort", onAbort, { once: true });
    try {
      deadline.set(waits.connectMs, "connection");
      sending.once("socket", (socket) => whenConnected(socket, () => deadline.set(waits.answerMs, "head")));
      sending.end(bytes ?? undefined);
      const answer = await answerOf(sending);
      deadline.set(waits.firstMs ?? waits.answerMs, "first-part");
      const errorOf = (cause: unknown): unknown =>
        reason ?? new BrokenConnection(wordsOf(cause), { wasSent: true, cause });
      return {
        status: answer.statusCode ?? 0,
        retryAfterSeconds: retryAfterSeconds(answer.headers["retry-after"]),
        body: new AnswerBody(answer, { deadline, nextMs: waits.nextMs, errorOf, onEnd }),
      };
    } catch (cause) {
      onEnd();
      throw reason ?? cause;
    }
  }

  #request(options: {
    readonly agent: HttpAgent | HttpsAgent | false;
    readonly method: string;
    readonly path: string;
    readonly headers: Readonly<Record<string, string>>;
  }): ClientRequest {
    const { hostname, port, protocol } = this.#url;
    // As URLs write IPv6 addresses, which sockets take without.
    const host = hostname.replace(/^\[(.*)\]$/, "$1");
    const all = { ...options, host, port };
    return protocol === "https:" ? httpsRequest(all) : httpRequest(all);
  }
}

class StaleConnection extends Error {}

function answerOf(sending: ClientRequest): Promise<IncomingMessage> {
  return new Promise((resolve, reject) => {
    sending.once("response", resolve);
    sending.on("error", (cause: NodeJS.ErrnoException) => {
      if (sending.reusedSocket && cause.code === "ECONNRESET") reject(new StaleConnection());
      // Later errors are those of the body, whose reader gets them.
      else
        reject(
          new BrokenConnection(wordsOf(cause), { wasSent: sending.socket?.connecting === false, cause }),
        );
    });
  });
}

function whenConnected(socket: Socket, then: () => void): void {
  if (!socket.connecting) then();
  else socket.once("connect", then);
}

/** A server may lie below a path of its own. */
function joinedPath({ pathname }: URL, path: string): string {
  return `${pathname.replace(/\/$/, "")}${path}`;
}

function wordsOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const code = "code" in error && typeof error.code === "string" ? error.code : "";
  return error.message || code;
}

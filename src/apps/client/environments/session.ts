// A WebSocket on which each request gets one answer. A late answer could be mistaken for the answer to the next
// request, so the session ends at the first timeout or malformed answer.
import { Deadline } from "../deadline.ts";
import { HoneError } from "../hone-error.ts";
import type { Socket, SocketEvent, WebSocketClass } from "../platform.ts";
import type { JsonObject } from "../recording/trajectory-fetch.ts";
import { invalidOption, messageOf, overdue, refusalOf, type EnvironmentMessage } from "./messages.ts";

export interface SessionLimits {
  readonly timeoutMs: number;
  readonly messageLengthMax: number;
  readonly signal: AbortSignal | undefined;
}

interface Waiting {
  resolve(message: EnvironmentMessage): void;
  reject(reason: unknown): void;
}

export class EnvironmentSession {
  readonly #url: string;
  readonly #socket: Socket;
  readonly #limits: SessionLimits;
  /** Resolves when the connection is open; rejects if it ends first. */
  readonly #opened: Promise<void>;
  readonly #closed: Promise<void>;
  /** The request that has no answer yet. */
  #waiting: Waiting | null = null;
  /** Why the session ended; null while it is open. */
  #ended: { readonly reason: unknown } | null = null;

  /**
   * Connects.
   *
   * @throws as openEnv
   */
  static async open(
    url: string,
    socketClass: WebSocketClass,
    limits: SessionLimits,
  ): Promise<EnvironmentSession> {
    const session = new EnvironmentSession(url, new socketClass(url), limits);
    await session.#within(session.#opened);
    return session;
  }

  private constructor(url: string, socket: Socket, limits: SessionLimits) {
    this.#url = url;
    this.#socket = socket;
    this.#limits = limits;
    this.#opened = new Promise((resolve, reject) => {
      this.#waiting = { resolve: () => resolve(), reject };
      socket.addEventListener("open", () => {
        this.#waiting = null;
        resolve();
      });
    });
    this.#closed = new Promise((resolve) => socket.addEventListener("close", () => resolve()));
    socket.addEventListener("message", (event) => this.#receive(event));
    socket.addEventListener("error", ({ message = "" }) => this.#end(this.#lost(message)));
    socket.addEventListener("close", () => this.#end(this.#lost("")));
    limits.signal?.addEventListener("abort", this.#onAbort, { once: true });
  }

  /**
   * Sends a request, and returns the data of its answer.
   *
   * @param type type of the expected answer
   * @throws HoneError for an error message; `invalid` if the previous request has no answer yet; `malformed`,
   * `connection` or `timeout`, which end the session
   */
  async ask(type: string, request: unknown): Promise<JsonObject> {
    if (this.#ended !== null) throw this.#ended.reason;
    if (this.#waiting !== null)
      throw invalidOption("", "The previous call to this environment has no answer yet; await each call.");
    const answer = new Promise<EnvironmentMessage>(
      (resolve, reject) => (this.#waiting = { resolve, reject }),
    );
    this.#socket.send(JSON.stringify(request));
    const message = await this.#within(answer);
    if (message.type === "error") throw refusalOf(message.data);
    if (message.type === type) return message.data;
    const fault = `The environment answered with the type ${JSON.stringify(message.type)} instead of ${type}.`;
    throw this.#end(new HoneError({ code: "malformed", message: fault }));
  }

  /** Ends the session, and waits until the server has closed the connection. */
  async close(): Promise<void> {
    if (this.#ended === null) {
      this.#socket.send(JSON.stringify({ type: "close" }));
      this.#end(new HoneError({ code: "connection", message: `The session with ${this.#url} is closed.` }));
    }
    await new Deadline(Math.min(this.#limits.timeoutMs, closeMsMax), undefined)
      .while(this.#closed)
      // A server that does not confirm the end must not fail a rollout whose reward is known.
      .catch(() => {});
  }

  readonly #onAbort = (): void => {
    this.#end(this.#limits.signal?.reason);
  };

  async #within<T>(wait: Promise<T>): Promise<T> {
    const deadline = new Deadline(this.#limits.timeoutMs, undefined);
    try {
      return await deadline.while(wait);
    } catch (error) {
      if (!deadline.isOver) throw error;
      throw this.#end(overdue(this.#url, this.#limits.timeoutMs));
    }
  }

  #receive({ data }: SocketEvent): void {
    const waiting = this.#waiting;
    try {
      const message = messageOf(data, this.#limits.messageLengthMax);
      this.#waiting = null;
      if (waiting !== null) waiting.resolve(message);
      // If the server cannot open a session, it sends an error before the first request, then closes the connection.
      else if (message.type === "error") this.#end(refusalOf(message.data));
      else
        throw new HoneError({ code: "malformed", message: `${this.#url} sent a message without a request.` });
    } catch (error) {
      this.#waiting = waiting;
      this.#end(error);
    }
  }

  /** Ends the session for this reason, unless it has ended already. Returns the reason. */
  #end(reason: unknown): unknown {
    if (this.#ended !== null) return reason;
    this.#ended = { reason };
    this.#limits.signal?.removeEventListener("abort", this.#onAbort);
    this.#waiting?.reject(reason);
    this.#waiting = null;
    this.#socket.close();
    return reason;
  }

  #lost(detail: string): HoneError {
    const reason = detail === "" ? "" : ` (${detail})`;
    const message = `No connection to the environment at ${this.#url}${reason}. Check that its server is running.`;
    return new HoneError({ code: "connection", message });
  }
}

/** Maximum time in milliseconds to wait until the server confirms the end. Only a server in mid-step needs long. */
const closeMsMax = 5000;

// Connects the event loop to a session without blocking: requests are sent to the session's thread and answered in
// order. The worker pools of processes/ are not used, because a connection has state, is never restarted
// automatically, and must not be terminated while libsql runs in it, which would abort the process.
import { setImmediate as nextTurn } from "node:timers/promises";
import { Worker, MessageChannel, receiveMessageOnPort, type MessagePort } from "node:worker_threads";
import type { QueryResult } from "kysely";
import { SqliteSession, type SessionOptions, type SessionRequest } from "./session.ts";
import type { ThreadAnswer, ThreadRequest } from "./session-thread.ts";
import { type Clock, systemClock } from "../../../base/domain/clock.ts";

export interface SessionLink {
  /**
   * Sends a request and returns its answer. @throws SqliteError on a database error; any other error if the session
   * has ended
   */
  ask(request: SessionRequest): Promise<QueryResult<unknown>>;
  /** Resolves when all earlier requests are done and the database is closed. Idempotent. */
  close(): Promise<void>;
}

/** An error of SQLite with its code. */
class SqliteError extends Error {
  readonly code: string | null;

  constructor(message: string, code: string | null) {
    super(message);
    this.name = "SqliteError";
    this.code = code;
  }
}

/**
 * Opens a session. The session of a database in memory runs in this thread, because such a database is small and never
 * waits for a disk.
 *
 * @param after delays opening: the thread starts immediately, but opens the session when this promise resolves, and
 * never if it rejects
 * @throws SqliteError if the file cannot be opened or is not a database
 */
export async function openSession(options: SessionOptions, after?: Promise<unknown>): Promise<SessionLink> {
  if (options.file === ":memory:") return localLink(new SqliteSession(options));
  const link = new ThreadLink();
  try {
    await after;
    await link.ask({ kind: "open", options });
    return link;
  } catch (error) {
    await link.close();
    throw error;
  }
}

function localLink(session: SqliteSession): SessionLink {
  let isOpen = true;
  return {
    ask: async (request) => session.answer(request),
    close: async () => {
      if (isOpen) session.answer({ kind: "close" });
      isOpen = false;
    },
  };
}

interface Asked {
  readonly resolve: (result: QueryResult<unknown>) => void;
  readonly reject: (error: Error) => void;
}

class ThreadLink implements SessionLink {
  readonly #answers = new AnswerPort<ThreadAnswer>((answer) => this.#settle(answer));
  readonly #worker = new Worker(new URL("./session-thread.js", import.meta.url), {
    // The thread does not get the command-line options of this process. They may contain a program text (`node
    // --eval`), which the thread would execute.
    execArgv: [],
    workerData: this.#answers.threadEnd,
    transferList: [this.#answers.threadEnd],
  });
  /** Requests without an answer, in the order in which they are answered. */
  readonly #asked: Asked[] = [];
  readonly #ended: Promise<void>;
  #closing: Promise<void> | null = null;
  #failure: Error | null = null;

  constructor() {
    this.#worker.on("message", () => this.#answers.announce());
    this.#worker.on("error", (cause) => this.#fail(cause));
    this.#ended = new Promise((resolve) =>
      this.#worker.on("exit", () => {
        this.#answers.end();
        this.#fail(null);
        resolve();
      }),
    );
    // An idle database does not keep the process running.
    this.#worker.unref();
  }

  ask(request: ThreadRequest): Promise<QueryResult<unknown>> {
    if (this.#closing !== null) return Promise.reject(new Error("The database is closed."));
    return this.#post(request);
  }

  close(): Promise<void> {
    return (this.#closing ??= this.#close());
  }

  async #close(): Promise<void> {
    try {
      await this.#post({ kind: "close" });
    } catch {
      // The session never opened, or its thread has ended, so there is nothing to close.
    }
    this.#worker.ref();
    await this.#ended;
  }

  #post(request: ThreadRequest): Promise<QueryResult<unknown>> {
    return new Promise((resolve, reject) => {
      if (this.#failure !== null) return reject(this.#failure);
      this.#worker.postMessage(request, []);
      this.#worker.ref();
      this.#asked.push({ resolve, reject });
    });
  }

  #settle(answer: ThreadAnswer): void {
    const asked = this.#asked.shift();
    if (this.#asked.length === 0) this.#worker.unref();
    if ("result" in answer) asked?.resolve(answer.result);
    else asked?.reject(new SqliteError(answer.error.message, answer.error.code));
  }

  /** Only the first failure is stored, because it is the cause of the later ones. */
  #fail(cause: Error | null): void {
    this.#failure ??= new Error("The thread of the database has ended.", { cause });
    for (const { reject } of this.#asked.splice(0)) reject(this.#failure);
  }
}

/**
 * Maximum time in milliseconds per turn of the event loop for delivering answers, including the code that waits for
 * them.
 */
const turnMs = 5;

/**
 * Passes the answers of a session's thread to the event loop, a few at a time. A port with a listener would deliver up
 * to a thousand messages in one turn, so two dozen readers of large rows could block the loop for seconds. The thread
 * therefore sends answers to a port without a listener, and this class takes them from the port.
 */
export class AnswerPort<Answer> {
  readonly #port: MessagePort;
  readonly #settle: (answer: Answer) => void;
  readonly #clock: Pick<Clock, "monotonicMs">;
  /**
   * End of the port for the thread. The thread posts each answer to it, and then announces the answer on its parent
   * port.
   */
  readonly threadEnd: MessagePort;
  #readyCount = 0;
  #isTaking = false;
  /** Time of the first answer in this turn of the event loop; null if there was none. */
  #turnStartMs: number | null = null;

  /** @param settle receives every answer, in order */
  constructor(settle: (answer: Answer) => void, clock: Pick<Clock, "monotonicMs"> = systemClock) {
    const { port1, port2 } = new MessageChannel();
    this.#port = port1;
    this.threadEnd = port2;
    this.#settle = settle;
    this.#clock = clock;
  }

  /** Signals that one more answer is available. */
  announce(): void {
    this.#readyCount += 1;
    if (!this.#isTaking) void this.#take();
  }

  /** Takes all remaining answers of a thread that has ended. */
  end(): void {
    while (this.#readyCount > 0) this.#takeNext();
    this.#port.close();
  }

  async #take(): Promise<void> {
    this.#isTaking = true;
    while (this.#readyCount > 0) {
      while (this.#isSliceExpired()) await nextTurn();
      if (this.#readyCount > 0) this.#takeNext();
      // Lets the code that waits for this answer run first, so that its time counts towards this turn.
      await Promise.resolve();
    }
    this.#isTaking = false;
  }

  #isSliceExpired(): boolean {
    const nowMs = this.#clock.monotonicMs();
    if (this.#turnStartMs === null) {
      this.#turnStartMs = nowMs;
      setImmediate(() => (this.#turnStartMs = null));
    }
    return nowMs - this.#turnStartMs >= turnMs;
  }

  #takeNext(): void {
    this.#readyCount -= 1;
    const received = receiveMessageOnPort(this.#port);
    // An answer is available, because the thread posts it before announcing it.
    if (received !== undefined) this.#settle(received.message as Answer);
  }
}

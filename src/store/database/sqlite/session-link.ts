// Connects the event loop to a database session without blocking: the session's thread answers requests in order. The
// worker pools of processes/ are unsuitable, because a connection has state and is never restarted automatically. Also,
// terminating its thread while libsql runs would abort the process.
import { setImmediate as nextTurn } from "node:timers/promises";
import { Worker, MessageChannel, receiveMessageOnPort, type MessagePort } from "node:worker_threads";
import type { QueryResult } from "kysely";
import { SqliteSession, type SessionOptions, type SessionRequest } from "./session.ts";
import type { ThreadAnswer, ThreadRequest } from "./session-thread.ts";
import { type Clock, systemClock } from "../../../base/domain/clock.ts";

export interface SessionLink {
  /**
   * Sends a request to the session and returns the answer.
   *
   * @throws SqliteError on a database error; any other error if the session has ended
   */
  ask(request: SessionRequest): Promise<QueryResult<unknown>>;
  /** Resolves when all earlier requests are done and the database is closed. Closing again does nothing. */
  close(): Promise<void>;
}

/** An error of SQLite, with its error code. */
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
    // Does not pass this process's command-line options to the thread. The options may contain a program text (`node
    // --eval`), which the thread would execute.
    execArgv: [],
    workerData: this.#answers.threadEnd,
    transferList: [this.#answers.threadEnd],
  });
  /** Requests that have no answer yet, in the order in which the thread answers them. */
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
    // Lets the process end while the database is idle.
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
      // The session was never opened, or its thread has ended, so there is nothing to close.
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

  /** Notes that the thread failed. Keeps only the first failure, because it causes the later ones. */
  #fail(cause: Error | null): void {
    this.#failure ??= new Error("The thread of the database has ended.", { cause });
    for (const { reject } of this.#asked.splice(0)) reject(this.#failure);
  }
}

/**
 * Maximum time in milliseconds during which answers are delivered in one iteration of the event loop. This includes the
 * time of the code that waits for these answers.
 */
const turnMs = 5;

/**
 * Passes the answers of a session's thread to the event loop, a few at a time. A port with a listener would deliver up
 * to a thousand in one iteration, so that readers of large rows could block the loop for seconds. The thread therefore
 * posts to a port without a listener, from which this class takes them.
 */
export class AnswerPort<Answer> {
  readonly #port: MessagePort;
  readonly #settle: (answer: Answer) => void;
  readonly #clock: Pick<Clock, "monotonicMs">;
  /**
   * The thread's end of the port. The thread posts each answer to it, and then announces the answer on its parent port.
   */
  readonly threadEnd: MessagePort;
  #readyCount = 0;
  #isTaking = false;
  /** Time when the first answer of this turn of the event loop was taken; null if there was none. */
  #turnStartMs: number | null = null;

  /** @param settle called with every answer, in order */
  constructor(settle: (answer: Answer) => void, clock: Pick<Clock, "monotonicMs"> = systemClock) {
    const { port1, port2 } = new MessageChannel();
    this.#port = port1;
    this.threadEnd = port2;
    this.#settle = settle;
    this.#clock = clock;
  }

  /** Notes that the thread has posted one more answer. */
  announce(): void {
    this.#readyCount += 1;
    if (!this.#isTaking) void this.#take();
  }

  /** Takes all remaining answers and closes the port. The caller must wait until the thread has ended. */
  end(): void {
    while (this.#readyCount > 0) this.#takeNext();
    this.#port.close();
  }

  async #take(): Promise<void> {
    this.#isTaking = true;
    while (this.#readyCount > 0) {
      while (this.#isSliceExpired()) await nextTurn();
      if (this.#readyCount > 0) this.#takeNext();
      // First runs the code that waits for this answer, so that the time of that code counts in this iteration.
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
    // The port always has an announced answer, because the thread posts each answer before announcing it.
    if (received !== undefined) this.#settle(received.message as Answer);
  }
}

// The way to a session from the event loop, which is never held up by it: requests go to the session's thread and are
// answered in order. Not a pool of workers (processes/): a connection has a state, is never started again by itself, and
// may not be ended while libsql runs in it, which would abort the process.
import { setImmediate as nextTurn } from "node:timers/promises";
import { Worker, MessageChannel, receiveMessageOnPort, type MessagePort } from "node:worker_threads";
import type { QueryResult } from "kysely";
import { SqliteSession, type SessionOptions, type SessionRequest } from "./session.ts";
import type { ThreadAnswer, ThreadRequest } from "./session-thread.ts";
import { type Clock, systemClock } from "../../../base/domain/clock.ts";

export interface SessionLink {
  /** @throws SqliteError what the database says; any other error when there is no session any more */
  ask(request: SessionRequest): Promise<QueryResult<unknown>>;
  /** Resolves when all that was asked before is done and the database is closed. Idempotent. */
  close(): Promise<void>;
}

/** What SQLite refused, and by which code. */
class SqliteError extends Error {
  readonly code: string | null;

  constructor(message: string, code: string | null) {
    super(message);
    this.name = "SqliteError";
    this.code = code;
  }
}

/**
 * Opens a session. That of a database in memory, which is small and never waits for a disk, stays in this thread.
 *
 * @param after opens it when that is over, and not where that fails; its thread is started meanwhile
 * @throws SqliteError when the file cannot be opened or is not a database
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
    // What this process was started with, such as a program on its command line, is not for its threads.
    execArgv: [],
    workerData: this.#answers.threadEnd,
    transferList: [this.#answers.threadEnd],
  });
  /** In the order of the answers. */
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
    // A database that nobody asks anything is no reason for the process to go on.
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
      // It was never open, or its thread has ended: nothing is left to close.
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

  /** Once: what ended the thread. */
  #fail(cause: Error | null): void {
    this.#failure ??= new Error("The thread of the database has ended.", { cause });
    for (const { reject } of this.#asked.splice(0)) reject(this.#failure);
  }
}

/** Once answers, and what was waiting for them, have taken so long in a turn of the event loop, others have theirs. */
const turnMs = 5;

/**
 * The answers of a session's thread on their way into the event loop, a few at a time. A port that is listened to gives
 * all its messages at once, up to a thousand, before anything else has its turn: of two dozen readers of large rows each
 * would be answered, ask for its next row and be answered again, and nobody else be heard for seconds. So answers come on
 * a port that nobody listens to, and are taken from it here.
 */
export class AnswerPort<Answer> {
  readonly #port: MessagePort;
  readonly #settle: (answer: Answer) => void;
  readonly #clock: Pick<Clock, "monotonicMs">;
  /** For the thread, which posts each answer there, and then says on a port of its own that one is there. */
  readonly threadEnd: MessagePort;
  #readyCount = 0;
  #isTaking = false;
  /** When the first answer of this turn was taken; null in a turn that has had none. */
  #turnStartMs: number | null = null;

  /** @param settle called with every answer, in order */
  constructor(settle: (answer: Answer) => void, clock: Pick<Clock, "monotonicMs"> = systemClock) {
    const { port1, port2 } = new MessageChannel();
    this.#port = port1;
    this.threadEnd = port2;
    this.#settle = settle;
    this.#clock = clock;
  }

  /** One more answer is there. */
  announce(): void {
    this.#readyCount += 1;
    if (!this.#isTaking) void this.#take();
  }

  /** Takes all that were announced at once: the thread has ended. */
  end(): void {
    while (this.#readyCount > 0) this.#takeNext();
    this.#port.close();
  }

  async #take(): Promise<void> {
    this.#isTaking = true;
    while (this.#readyCount > 0) {
      while (this.#isTurnOver()) await nextTurn();
      if (this.#readyCount > 0) this.#takeNext();
      // Whoever waited for it goes on first, in this turn's time.
      await Promise.resolve();
    }
    this.#isTaking = false;
  }

  #isTurnOver(): boolean {
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
    // The thread posted one for each that it announced.
    if (received !== undefined) this.#settle(received.message as Answer);
  }
}

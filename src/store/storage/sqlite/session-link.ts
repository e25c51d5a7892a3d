// The way to a session from the event loop, which is never held up by it: requests go to the session's thread and are
// answered in order. Not a pool of workers (processes/): a connection has a state, is never started again by itself, and
// may not be ended while libsql runs in it, which would abort the process.
import { Worker } from "node:worker_threads";
import type { QueryResult } from "kysely";
import { AnswerPort } from "./answer-port.ts";
import { SqliteSession, type SessionOptions, type SessionRequest } from "./session.ts";
import type { ThreadAnswer, ThreadRequest } from "./session-thread.ts";

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

// One place in a pool, with a worker that runs one task at a time. If a stage of a task exceeds its time limit, the
// worker is ended, and the next task gets a new worker. This module does not know the queue.
import type { Transferable } from "node:worker_threads";
import { ServiceError } from "../domain/service-error.ts";
import { deserializeError } from "./serialized-error.ts";
import { startWorker, type TaskWorker, type WorkerOptions } from "./task-worker.ts";
import type { TaskMessage, TaskOutcome, WorkerMessage } from "./tasks.ts";

/** A task, with the functions that settle its promise. */
export interface Job {
  readonly message: TaskMessage;
  readonly transfer: readonly ArrayBuffer[];
  readonly resolve: (result: unknown) => void;
  readonly reject: (error: Error) => void;
}

/** Error of a task whose worker was ended, because a stage of the task exceeded its time limit. */
export class TaskTimeout extends ServiceError {
  /** Index of the stage that took too long. */
  readonly stage: number;

  constructor(stage: number, timeoutMs: number) {
    super({ code: "timeout", message: `A task took longer than ${timeoutMs} ms.` });
    this.stage = stage;
  }
}

/** Time limit in milliseconds for the start of a worker. */
const startMs = 60_000;

export class WorkerThread {
  readonly #options: WorkerOptions;
  readonly #onIdle: () => void;
  #worker: TaskWorker | null = null;
  #isReady = false;
  #job: Job | null = null;
  #stage = 0;
  #deadline: NodeJS.Timeout | undefined;

  /** @param onIdle called, asynchronously, each time the worker becomes able to take a task */
  constructor(options: WorkerOptions, onIdle: () => void) {
    this.#options = options;
    this.#onIdle = onIdle;
  }

  get isIdle(): boolean {
    return this.#job === null;
  }

  /** Starts the worker, even if there is no task for it yet. */
  prepare(): void {
    this.#worker ??= this.#start();
    if (this.isIdle) this.#worker.unref();
  }

  /** Runs a task. May be called only while the worker is idle. */
  begin(job: Job): void {
    this.#job = job;
    this.#worker ??= this.#start();
    this.#worker.ref();
    this.#beginStage(0);
    try {
      this.#worker.postMessage(job.message, [...job.transfer] as Transferable[]);
    } catch (error) {
      this.#settle()?.reject(error as Error);
    }
  }

  /** Called when no task is waiting. Ends the worker if the pool's options say so. */
  rest(): void {
    const worker = this.#worker;
    if (this.#options.endsWhenIdle !== true || worker === null || !this.isIdle) return;
    this.#forget();
    void worker.terminate();
  }

  /** Ends the worker in any state, and makes its task fail with `error`. Resolves when the worker is gone. */
  async end(error: Error): Promise<void> {
    const worker = this.#worker;
    this.#forget();
    this.#settle()?.reject(error);
    await worker?.terminate();
  }

  #forget(): void {
    this.#worker = null;
    this.#isReady = false;
  }

  #start(): TaskWorker {
    const worker = startWorker(this.#options);
    const endIfCurrent = (error: Error): void => {
      if (this.#worker === worker) void this.end(error);
    };
    worker.on("message", (message) => {
      if (this.#worker === worker) this.#receive(message);
    });
    worker.on("error", (cause) =>
      endIfCurrent(cause.code === "ERR_WORKER_OUT_OF_MEMORY" ? tookTooMuch(cause) : cause),
    );
    worker.on("exit", (how) => endIfCurrent(new Error(`A worker ended with ${String(how)} during a task.`)));
    return worker;
  }

  #receive(message: WorkerMessage): void {
    if (message.kind === "ready") {
      this.#isReady = true;
      if (!this.isIdle) this.#beginStage(0);
    } else if (message.kind === "stage") this.#beginStage(this.#stage + 1);
    else answer(this.#settle(), message);
  }

  #beginStage(stage: number): void {
    const job = this.#job;
    const timeoutMs = this.#isReady ? (this.#options.stageMs[stage] ?? 0) : startMs;
    clearTimeout(this.#deadline);
    this.#stage = stage;
    const endIfNotDone = (): void => {
      if (this.#job === job && this.#stage === stage) void this.end(new TaskTimeout(stage, timeoutMs));
    };
    // If this thread was blocked, the worker's answer may be unread. `setImmediate` lets this thread read it first.
    this.#deadline = setTimeout(() => setImmediate(endIfNotDone), timeoutMs);
  }

  /** Clears the current job, makes the worker idle, and returns the job; null if there is none. */
  #settle(): Job | null {
    const job = this.#job;
    clearTimeout(this.#deadline);
    this.#job = null;
    this.#worker?.unref();
    queueMicrotask(this.#onIdle);
    return job;
  }
}

function answer(job: Job | null, outcome: TaskOutcome): void {
  if (outcome.kind === "done") job?.resolve(outcome.result);
  else job?.reject(deserializeError(outcome.error));
}

function tookTooMuch(cause: Error): ServiceError {
  const message = "This holds more values than the server has memory for; send less at a time.";
  return new ServiceError({ code: "too_large", message, cause });
}

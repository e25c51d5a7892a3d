// Worker threads that take tasks one at a time, in the order they came: for work that would hold up the event loop.
// Started at the first task, and no reason for the process to go on. What a task means is said by the worker's module.
import { Worker, type Transferable } from "node:worker_threads";
import { ServiceError } from "../domain/service-error.ts";
import type { TaskOutcome } from "./serve-tasks.ts";

export interface WorkerPool {
  /**
   * Runs one task. What is in `transfer` is the worker's afterwards.
   *
   * @throws ServiceError what the task threw; `too_large` when it took more memory than the worker has, `timeout` when
   *   it took too long, `unavailable` once the pool is closed
   */
  run(task: unknown, transfer?: readonly ArrayBuffer[]): Promise<unknown>;
  /** Ends the workers; what they still do fails as `unavailable`. */
  close(): Promise<void>;
}

export interface WorkerPoolOptions {
  /** A module that calls `serveTasks`. */
  readonly module: URL;
  readonly workerCount: number;
  /** Of one task, from when a worker takes it. */
  readonly timeoutMs: number;
  /** Of a worker's objects; buffers are not counted. */
  readonly memoryMebibytes: number;
}

interface Job {
  readonly task: unknown;
  readonly transfer: readonly ArrayBuffer[];
  readonly resolve: (result: unknown) => void;
  readonly reject: (error: Error) => void;
}

interface Thread {
  worker: Worker | null;
  job: Job | null;
  deadline: NodeJS.Timeout | null;
}

/** A pool that has started nothing yet. */
export function createWorkerPool(options: WorkerPoolOptions): WorkerPool {
  const waiting: Job[] = [];
  const threads = Array.from({ length: options.workerCount }, (): Thread => ({
    worker: null,
    job: null,
    deadline: null,
  }));
  let isClosed = false;

  const assign = (): void => {
    for (const thread of threads) {
      if (thread.job !== null) continue;
      const job = waiting.shift();
      if (job === undefined) return;
      begin(thread, job);
    }
  };
  const begin = (thread: Thread, job: Job): void => {
    thread.job = job;
    thread.worker ??= start(thread);
    thread.worker.ref();
    thread.deadline = setTimeout(() => end(thread, tookTooLong(options.timeoutMs)), options.timeoutMs);
    try {
      thread.worker.postMessage(job.task, [...job.transfer] as Transferable[]);
    } catch (error) {
      settle(thread)?.reject(error as Error);
    }
  };
  /** Takes the job off the thread. */
  const settle = (thread: Thread): Job | null => {
    const { job, deadline } = thread;
    if (deadline !== null) clearTimeout(deadline);
    thread.job = null;
    thread.deadline = null;
    thread.worker?.unref();
    queueMicrotask(assign);
    return job;
  };
  /** Gives the thread up: its worker may be in any state. Another is started for the next task. */
  const end = (thread: Thread, error: Error): void => {
    const { worker } = thread;
    thread.worker = null;
    settle(thread)?.reject(error);
    void worker?.terminate();
  };
  const start = (thread: Thread): Worker => {
    const worker = new Worker(options.module, {
      // What this process was started with, such as a program on its command line, is not for its workers.
      execArgv: [],
      resourceLimits: { maxOldGenerationSizeMb: options.memoryMebibytes },
    });
    worker.on("message", (outcome: TaskOutcome) => {
      const job = settle(thread);
      if (outcome.isDone) job?.resolve(outcome.result);
      else job?.reject(revived(outcome));
    });
    worker.on("error", (cause: Error & { readonly code?: string }) => {
      if (thread.worker !== worker) return;
      end(thread, cause.code === "ERR_WORKER_OUT_OF_MEMORY" ? tookTooMuch(cause) : cause);
    });
    return worker;
  };

  return {
    run: (task, transfer = []) =>
      new Promise((resolve, reject) => {
        if (isClosed) return reject(closed());
        waiting.push({ task, transfer, resolve, reject });
        assign();
      }),
    close: async () => {
      isClosed = true;
      for (const job of waiting.splice(0)) job.reject(closed());
      await Promise.all(
        threads.map(async (thread) => {
          const { worker } = thread;
          end(thread, closed());
          await worker?.terminate();
        }),
      );
    },
  };
}

function revived(outcome: TaskOutcome & { readonly isDone: false }): Error {
  const { error, refusal } = outcome;
  return refusal === null ? error : new ServiceError({ ...refusal, cause: error.cause });
}

function tookTooMuch(cause: Error): ServiceError {
  const message = "This holds more values than the server has memory for; send less at a time.";
  return new ServiceError({ code: "too_large", message, cause });
}

function tookTooLong(timeoutMs: number): ServiceError {
  return new ServiceError({ code: "timeout", message: `A task took longer than ${timeoutMs} ms.` });
}

function closed(): ServiceError {
  return new ServiceError({ code: "unavailable", message: "The server is stopping." });
}

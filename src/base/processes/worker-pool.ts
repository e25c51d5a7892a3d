// A pool of workers, which are threads or processes, for work that would block the event loop or may never end. Each
// worker runs one task at a time, starts when it is first needed, and does not keep the process alive. Tasks are typed
// calls of a module's functions (tasks.ts).
import { ServiceError } from "../domain/service-error.ts";
import { TenantShares } from "../domain/sharing/tenant-shares.ts";
import { WaitingLine } from "../domain/sharing/loop-turns.ts";
import type { WorkerOptions } from "./task-worker.ts";
import type { TaskTypes } from "./tasks.ts";
import { WorkerThread, type Job } from "./worker-thread.ts";

export interface WorkerPoolOptions<Data = unknown> extends WorkerOptions {
  readonly data?: Data;
  readonly workerCount: number;
  /**
   * Limits of the queue: maximum number of waiting tasks of all clients, and maximum time in milliseconds that a
   * task waits. Absent if neither is limited.
   */
  readonly line?: { readonly lengthMax: number; readonly waitMs: number };
}

export interface TaskOptions {
  /** Client to whom the task belongs. Waiting tasks of different clients take turns. */
  readonly client?: string;
  readonly signal?: AbortSignal;
  /** Buffers to transfer to the worker instead of copying them. */
  readonly transfer?: readonly ArrayBuffer[];
}

export class WorkerPool<Tasks extends TaskTypes<Tasks>, Data = undefined> {
  readonly #line: Line | undefined;
  readonly #places: TenantShares | undefined;
  readonly #threads: readonly WorkerThread[];
  readonly #waiting = new WaitingLine<Job & { readonly onBegin: () => void }>();
  #isClosed = false;

  /** Creates the pool. No worker starts yet. */
  constructor(options: WorkerPoolOptions<Data>) {
    this.#line = options.line;
    this.#places = options.line && new TenantShares(options.line.lengthMax);
    const assign = (): void => this.#assign();
    this.#threads = Array.from({ length: options.workerCount }, () => new WorkerThread(options, assign));
  }

  get waitingCount(): number {
    return this.#waiting.length;
  }

  /** Starts the first worker early, so that the first task need not wait for its start. */
  prepare(): void {
    if (!this.#isClosed) this.#threads[0]?.prepare();
  }

  /**
   * Runs one task. If its signal aborts, a waiting task leaves the queue; a running task continues, but its result is
   * discarded.
   *
   * @throws ServiceError the task's own error, or one of these:
   * - `too_large` when the task needed more memory than the worker has, `timeout` (`TaskTimeout`) when a stage exceeded
   * its time limit
   * - `overloaded` when too many tasks wait, or this one has waited too long
   * - `cancelled` when its signal aborts, `unavailable` once the pool is closed
   */
  run<Kind extends keyof Tasks & string>(
    kind: Kind,
    task: Tasks[Kind]["task"],
    { client = "", signal, transfer = [] }: TaskOptions = {},
  ): Promise<Tasks[Kind]["result"]> {
    const line = this.#line;
    return new Promise((resolve, reject) => {
      if (this.#isClosed) return reject(closed());
      if (signal?.aborted) return reject(cancelled());
      const places = this.#places;
      const leaveLine = places?.enter(client);
      if (leaveLine === null) return reject(tooManyWait(places?.usedBy(client) ?? 0));

      const giveUp = (error: Error): void => {
        this.#waiting.remove(client, job);
        job.reject(error);
      };
      const cancel = (): void => giveUp(cancelled());
      const patience = line && setTimeout(() => giveUp(waitedTooLong(line)), line.waitMs);
      const onBegin = (): void => {
        clearTimeout(patience);
        leaveLine?.();
      };
      const onEnd = (): void => {
        clearTimeout(patience);
        leaveLine?.();
        signal?.removeEventListener("abort", cancel);
      };
      const job = {
        message: { kind, task },
        transfer,
        onBegin,
        // Safe cast: the module answers a task of this kind with a result of this kind.
        resolve: (result: Tasks[Kind]["result"]) => (onEnd(), resolve(result)),
        reject: (error: Error) => (onEnd(), reject(error)),
      };
      signal?.addEventListener("abort", cancel, { once: true });
      this.#waiting.add(client, job);
      this.#assign();
    });
  }

  /** Ends the workers. Their running tasks fail with `unavailable`. */
  async close(): Promise<void> {
    this.#isClosed = true;
    for (let job = this.#waiting.takeNext(); job !== undefined; job = this.#waiting.takeNext())
      job.reject(closed());
    await Promise.all(this.#threads.map((thread) => thread.end(closed())));
  }

  #assign(): void {
    for (const thread of this.#threads) {
      if (!thread.isIdle) continue;
      const job = this.#waiting.takeNext();
      if (job === undefined) {
        thread.rest();
        continue;
      }
      job.onBegin();
      thread.begin(job);
    }
  }
}

type Line = NonNullable<WorkerPoolOptions["line"]>;

function tooManyWait(count: number): ServiceError {
  const message = `${count} of your requests already wait for this work, the maximum; try again later.`;
  return new ServiceError({ code: "overloaded", message, retryAfterSeconds: 1 });
}

function waitedTooLong({ waitMs }: Line): ServiceError {
  const message = `This request waited for ${waitMs / 1000} s without being started; try again later.`;
  return new ServiceError({ code: "overloaded", message, retryAfterSeconds: 5 });
}

function cancelled(): ServiceError {
  return new ServiceError({ code: "cancelled", message: "The request was cancelled." });
}

function closed(): ServiceError {
  return new ServiceError({ code: "unavailable", message: "The server is stopping." });
}

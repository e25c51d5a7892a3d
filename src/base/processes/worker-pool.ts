// Workers, in threads or processes of their own, that take tasks one at a time: for work that would hold up the event
// loop, or may never end. Started when they are needed, and no reason for the process to go on. Tasks are calls of the
// functions of a module (tasks.ts), and typed as those are; what they mean is said there.
import { ServiceError } from "../domain/service-error.ts";
import { TenantShares } from "../domain/sharing/tenant-shares.ts";
import { WaitingLine } from "../domain/sharing/loop-turns.ts";
import type { WorkerOptions } from "./task-worker.ts";
import type { TaskTypes } from "./tasks.ts";
import { WorkerThread, type Job } from "./worker-thread.ts";

export interface WorkerPoolOptions<Data = unknown> extends WorkerOptions {
  readonly data?: Data;
  readonly workerCount: number;
  /** How many tasks may wait, of which each client has its share, and how long; without it any number may, for ever. */
  readonly line?: { readonly lengthMax: number; readonly waitMs: number };
}

export interface TaskOptions {
  /** Clients whose tasks wait take turns. */
  readonly client?: string;
  readonly signal?: AbortSignal;
  /** What of the task is the worker's afterwards, rather than copied. */
  readonly transfer?: readonly ArrayBuffer[];
}

export class WorkerPool<Tasks extends TaskTypes<Tasks>, Data = undefined> {
  readonly #line: Line | undefined;
  readonly #places: TenantShares | undefined;
  readonly #threads: readonly WorkerThread[];
  readonly #waiting = new WaitingLine<Job & { readonly onBegin: () => void }>();
  #isClosed = false;

  /** A pool that has started nothing yet. */
  constructor(options: WorkerPoolOptions<Data>) {
    this.#line = options.line;
    this.#places = options.line && new TenantShares(options.line.lengthMax);
    const assign = (): void => this.#assign();
    this.#threads = Array.from({ length: options.workerCount }, () => new WorkerThread(options, assign));
  }

  get waitingCount(): number {
    return this.#waiting.length;
  }

  /** Starts the first worker, so that the first task need not wait for it. */
  prepare(): void {
    if (!this.#isClosed) this.#threads[0]?.prepare();
  }

  /**
   * Runs one task. One whose signal aborts gives up its place in the line; one that has begun goes on, and nobody waits
   * for it.
   *
   * @throws ServiceError what the task threw; `too_large` when it took more memory than the worker has, `timeout`
   *   (`TaskTimeout`) when it took too long, `overloaded` when too many wait or it has waited too long, `cancelled` when
   *   its signal aborts, `unavailable` once the pool is closed
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
        // The module answers with what a task of the kind gives.
        resolve: (result: Tasks[Kind]["result"]) => (onEnd(), resolve(result)),
        reject: (error: Error) => (onEnd(), reject(error)),
      };
      signal?.addEventListener("abort", cancel, { once: true });
      this.#waiting.add(client, job);
      this.#assign();
    });
  }

  /** Ends the workers; what they still do fails as `unavailable`. */
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
  const message = `${count} of your requests wait for this work already, the most that may; try again later.`;
  return new ServiceError({ code: "overloaded", message, retryAfterSeconds: 1 });
}

function waitedTooLong({ waitMs }: Line): ServiceError {
  const message = `This request's turn did not come within ${waitMs / 1000} s; try again later.`;
  return new ServiceError({ code: "overloaded", message, retryAfterSeconds: 5 });
}

function cancelled(): ServiceError {
  return new ServiceError({ code: "cancelled", message: "The request was cancelled." });
}

function closed(): ServiceError {
  return new ServiceError({ code: "unavailable", message: "The server is stopping." });
}

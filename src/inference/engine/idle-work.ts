// Work that can wait for a moment without calls, one task at a time: what a first request of some kind would else wait for.
// A task that fails is dropped; the request that needs its result runs it again, and gets the error.
import type { Clock } from "../../base/domain/clock.ts";

const quietMs = 100;
/** Before the first task: whoever has just loaded is mostly one of several that a start loads, and the others go first. */
const firstQuietMs = 1000;

type Task = () => Promise<unknown>;

export class IdleWork {
  readonly #clock: Clock;
  readonly #abort = new AbortController();
  readonly #tasks: Task[];
  #isRunning = false;
  #finished: Promise<void>;
  #wasBusy = false;

  /** Starts at once; the first task runs after a quiet moment, and a longer one. */
  constructor(clock: Clock, tasks: readonly Task[]) {
    this.#clock = clock;
    this.#tasks = [...tasks];
    this.#finished = this.#run(firstQuietMs);
  }

  /** Another task, behind those that wait. */
  add(task: Task): void {
    this.#tasks.push(task);
    if (!this.#isRunning) this.#finished = this.#run(quietMs);
  }

  /** Puts the next task off: something that cannot wait is going on. */
  postpone(): void {
    this.#wasBusy = true;
  }

  /** Lets the task in progress end and starts no other. */
  async stop(): Promise<void> {
    this.#abort.abort();
    await this.#finished;
  }

  async #run(firstMs: number): Promise<void> {
    this.#isRunning = true;
    for (let ms = firstMs; this.#tasks.length > 0; ms = quietMs) {
      await this.#quietMoment(ms);
      if (this.#abort.signal.aborted) break;
      await this.#tasks
        .shift()?.()
        .catch(() => undefined);
    }
    this.#isRunning = false;
  }

  /** A stretch of time in which nothing was postponed; ends early when the work is stopped. */
  async #quietMoment(ms: number): Promise<void> {
    do {
      this.#wasBusy = false;
      await this.#clock.sleep(ms, { signal: this.#abort.signal }).catch(() => undefined);
    } while (this.#wasBusy && !this.#abort.signal.aborted);
  }
}

// Work that can wait for a moment without calls, one task at a time: what a first request of some kind would else wait for.
// A task that fails is dropped; the request that needs its result runs it again, and gets the error.
import type { Clock } from "../domain/clock.ts";

const quietMs = 100;
/** Before the first task: whoever has just loaded is mostly one of several that a start loads, and the others go first. */
const firstQuietMs = 1000;

export class IdleWork {
  readonly #clock: Clock;
  readonly #abort = new AbortController();
  readonly #finished: Promise<void>;
  #wasBusy = false;

  /** Starts at once; the first task runs after a quiet moment, and a longer one. */
  constructor(clock: Clock, tasks: readonly (() => Promise<unknown>)[]) {
    this.#clock = clock;
    this.#finished = this.#run(tasks);
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

  async #run(tasks: readonly (() => Promise<unknown>)[]): Promise<void> {
    for (const [index, task] of tasks.entries()) {
      await this.#quietMoment(index === 0 ? firstQuietMs : quietMs);
      if (this.#abort.signal.aborted) return;
      await task().catch(() => undefined);
    }
  }

  /** A stretch of time in which nothing was postponed; ends early when the work is stopped. */
  async #quietMoment(ms: number): Promise<void> {
    do {
      this.#wasBusy = false;
      await this.#clock.sleep(ms, { signal: this.#abort.signal }).catch(() => undefined);
    } while (this.#wasBusy && !this.#abort.signal.aborted);
  }
}

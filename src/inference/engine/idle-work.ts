// Work for moments without requests: tasks that a first request of some kind would else wait for, one at a time, and the
// collection of garbage.
// A task that fails is dropped; the request that needs its result runs it again, and gets the error.
import type { Clock } from "../../base/domain/clock.ts";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";

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

// What requests leave behind is given back in a quiet moment: keys, values and scores lie in arrays that are small objects to
// the collector of garbage, which may leave hundreds of megabytes where they are for as long as nothing happens.

/** Longer than the gaps between the requests of a busy server: a collection takes some ten milliseconds. */
const collectionQuietMs = 1000;

/** Collects garbage once after each stretch of work. */
export class QuietCollection {
  readonly #clock: Clock;
  readonly #collect: () => void;
  #isWaiting = false;
  #wasBusy = false;

  /** @param collect frees what nothing holds any more */
  constructor(clock: Clock, collect: () => void) {
    this.#clock = clock;
    this.#collect = collect;
  }

  /** Work is going on. Called at each step. */
  postpone(): void {
    this.#wasBusy = true;
    if (!this.#isWaiting) void this.#collectWhenQuiet();
  }

  async #collectWhenQuiet(): Promise<void> {
    this.#isWaiting = true;
    while (this.#wasBusy) {
      this.#wasBusy = false;
      await this.#clock.sleep(collectionQuietMs);
    }
    this.#isWaiting = false;
    this.#collect();
  }
}

/** V8's own collector, which programs see only behind a flag. It frees all at once, and returns when it has. */
export function garbageCollector(): () => void {
  setFlagsFromString("--expose-gc");
  // In a context made after the flag was set this name is that function.
  return runInNewContext("gc") as () => void;
}

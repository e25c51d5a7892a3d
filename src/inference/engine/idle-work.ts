// Idle work: tasks that a first request of some kind would otherwise wait for, run one at a time, and idle garbage
// collection. A failed task is dropped; the request that needs its result runs it again and gets the error.
import type { Clock } from "../../base/domain/clock.ts";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";

const idleMs = 100;
/** Idle time before the first task. A start mostly loads several engines, and the others' loading takes precedence. */
const firstIdleMs = 1000;

type Task = () => Promise<unknown>;

export class IdleWork {
  readonly #clock: Clock;
  readonly #abort = new AbortController();
  readonly #tasks: Task[];
  #isRunning = false;
  #finished: Promise<void>;
  #wasBusy = false;

  /** Starts immediately; the first task runs after a longer idle moment than the others. */
  constructor(clock: Clock, tasks: readonly Task[]) {
    this.#clock = clock;
    this.#tasks = [...tasks];
    this.#finished = this.#run(firstIdleMs);
  }

  /** Adds a task to the end of the queue. */
  add(task: Task): void {
    this.#tasks.push(task);
    if (!this.#isRunning) this.#finished = this.#run(idleMs);
  }

  /** Postpones the next task: a call runs. */
  postpone(): void {
    this.#wasBusy = true;
  }

  /** Finishes the task in progress and starts no other. */
  async stop(): Promise<void> {
    this.#abort.abort();
    await this.#finished;
  }

  async #run(firstMs: number): Promise<void> {
    this.#isRunning = true;
    for (let ms = firstMs; this.#tasks.length > 0; ms = idleMs) {
      await this.#idleMoment(ms);
      if (this.#abort.signal.aborted) break;
      await this.#tasks
        .shift()?.()
        .catch(() => undefined);
    }
    this.#isRunning = false;
  }

  /** Waits for a stretch of time without postponement; ends early when the work is stopped. */
  async #idleMoment(ms: number): Promise<void> {
    do {
      this.#wasBusy = false;
      await this.#clock.sleep(ms, { signal: this.#abort.signal }).catch(() => undefined);
    } while (this.#wasBusy && !this.#abort.signal.aborted);
  }
}

// Idle garbage collection returns what requests leave behind. To the collector, arrays of keys, values and scores are
// small objects: without new allocations it may keep hundreds of megabytes of them indefinitely.

/** Longer than the gaps between requests of a busy server: a collection takes about ten milliseconds. */
const collectionIdleMs = 1000;

/** Collects garbage once after each stretch of work. */
export class IdleGc {
  readonly #clock: Clock;
  readonly #collect: () => void;
  #isWaiting = false;
  #wasBusy = false;

  /** @param collect frees unreachable objects */
  constructor(clock: Clock, collect: () => void) {
    this.#clock = clock;
    this.#collect = collect;
  }

  /** Notes that work is in progress. Called at each step. */
  postpone(): void {
    this.#wasBusy = true;
    if (!this.#isWaiting) void this.#collectWhenIdle();
  }

  async #collectWhenIdle(): Promise<void> {
    this.#isWaiting = true;
    while (this.#wasBusy) {
      this.#wasBusy = false;
      await this.#clock.sleep(collectionIdleMs);
    }
    this.#isWaiting = false;
    this.#collect();
  }
}

/** Returns V8's own collector, which is exposed only by a flag. It frees everything in one call before it returns. */
export function garbageCollector(): () => void {
  setFlagsFromString("--expose-gc");
  // In a context created after the flag was set, the name `gc` is that function.
  return runInNewContext("gc") as () => void;
}

// Idle work of an engine. Prepares data that the first request of some kind would otherwise wait for, one task at a
// time, and collects garbage. If a task fails, it is dropped; a request that needs the task's result runs it again and
// receives the error.
import type { Clock } from "../../base/domain/clock.ts";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";

const idleMs = 100;
/** Idle time in milliseconds before the first task. */
const firstIdleMs = 1000;
/**
 * Maximum time in milliseconds for which idle work waits for the first call of the model. Until that call, the server
 * may still be loading other models or its own code, which takes precedence. The server makes the first call itself
 * when all models are loaded.
 */
const firstCallMsMax = 30_000;

/**
 * Maximum time in milliseconds that an urgent task, or a step of it, waits for an idle moment. A server that is always
 * busy would otherwise never run the task.
 */
const urgentMsMax = 2000;

/**
 * A task of idle work.
 *
 * @param untilIdle waits until the engine is idle, if there was a call since the task began or waited last; a long task
 * calls this function between its steps. Rejects once the work is stopped
 */
export type IdleTask = (untilIdle: () => Promise<void>) => Promise<unknown>;

export class IdleWork {
  readonly #clock: Clock;
  readonly #abort = new AbortController();
  readonly #tasks: IdleTask[];
  /** Number of urgent tasks, which are the first ones. */
  #urgentCount: number;
  #isRunning = false;
  #finished: Promise<void>;
  #wasBusy = false;
  readonly #firstCall = new AbortController();

  /**
   * Starts waiting immediately: for the first call of {@link IdleWork.postpone}, then for idle time.
   *
   * @param urgent tasks that come before all others, and that run even if the engine is never idle
   */
  constructor(clock: Clock, tasks: readonly IdleTask[], urgent: readonly IdleTask[] = []) {
    this.#clock = clock;
    this.#tasks = [...urgent, ...tasks];
    this.#urgentCount = urgent.length;
    this.#finished = this.#runFirst();
  }

  /** Adds a task to the end of the queue, and starts the work again if it has ended. */
  add(task: IdleTask): void {
    this.#tasks.push(task);
    if (!this.#isRunning) this.#finished = this.#run(idleMs);
  }

  /** Postpones the next task. Called each time the engine runs the model. */
  postpone(): void {
    this.#wasBusy = true;
    this.#firstCall.abort();
  }

  /** Waits for the task in progress, and starts no further task. */
  async stop(): Promise<void> {
    this.#abort.abort();
    await this.#finished;
  }

  async #runFirst(): Promise<void> {
    this.#isRunning = true;
    const signal = AbortSignal.any([this.#abort.signal, this.#firstCall.signal]);
    await this.#clock.sleep(firstCallMsMax, { signal }).catch(() => undefined);
    await this.#run(firstIdleMs);
  }

  async #run(firstMs: number): Promise<void> {
    this.#isRunning = true;
    for (let ms = firstMs; this.#tasks.length > 0; ms = idleMs) {
      const msMax = this.#urgentCount > 0 ? urgentMsMax : Infinity;
      await this.#idleMoment(ms, msMax);
      if (this.#abort.signal.aborted) break;
      this.#urgentCount = Math.max(0, this.#urgentCount - 1);
      await this.#tasks
        .shift()?.(() => this.#untilIdle(msMax))
        .catch(() => undefined);
    }
    this.#isRunning = false;
  }

  async #untilIdle(msMax: number): Promise<void> {
    if (this.#wasBusy) await this.#idleMoment(idleMs, msMax);
    this.#abort.signal.throwIfAborted();
  }

  /**
   * Waits until `ms` milliseconds have passed without a call of {@link IdleWork.postpone}, at most about `msMax`
   * milliseconds. Returns early when the work is stopped.
   */
  async #idleMoment(ms: number, msMax: number): Promise<void> {
    let waitedMs = 0;
    do {
      this.#wasBusy = false;
      await this.#clock.sleep(ms, { signal: this.#abort.signal }).catch(() => undefined);
      waitedMs += ms;
    } while (this.#wasBusy && waitedMs < msMax && !this.#abort.signal.aborted);
  }
}

// Idle garbage collection frees memory that finished requests no longer use. V8 underestimates the size of arrays of
// keys, values and logits, so without new allocations it may keep hundreds of megabytes of them indefinitely.

/**
 * Idle time in milliseconds before a collection. A collection takes about ten milliseconds, so this time is longer than
 * the gaps between requests of a busy server.
 */
const collectionIdleMs = 1000;

/**
 * Bytes of dropped blocks after which garbage is collected during work. V8 would free such large blocks only at its next
 * full collection, which may be minutes later.
 */
const droppedBytesMax = 64 * 2 ** 20;

interface Collection {
  /** Frees unreachable objects. */
  readonly collect: () => void;
  /** Called before each collection in idle time. */
  readonly beforeIdle: () => void;
}

/** Collects garbage once after each period of work, and during work when large blocks have been dropped. */
export class IdleGc {
  readonly #clock: Clock;
  readonly #collection: Collection;
  #droppedBytes = 0;
  #isWaiting = false;
  #wasBusy = false;

  constructor(clock: Clock, collection: Collection) {
    this.#clock = clock;
    this.#collection = collection;
  }

  /**
   * Postpones the idle collection, because work is in progress. Called at each step.
   *
   * @param droppedBytes size of the blocks that became garbage since the last call
   */
  postpone(droppedBytes: number): void {
    this.#wasBusy = true;
    this.#droppedBytes += droppedBytes;
    if (this.#droppedBytes >= droppedBytesMax) {
      this.#droppedBytes = 0;
      this.#collection.collect();
    }
    if (!this.#isWaiting) void this.#collectWhenIdle();
  }

  async #collectWhenIdle(): Promise<void> {
    this.#isWaiting = true;
    while (this.#wasBusy) {
      this.#wasBusy = false;
      await this.#clock.sleep(collectionIdleMs);
    }
    this.#isWaiting = false;
    this.#collection.beforeIdle();
    this.#collection.collect();
  }
}

/**
 * Returns V8's garbage collection function, which V8 exposes only under a flag. The function frees all unreachable
 * objects before it returns.
 */
export function garbageCollector(): () => void {
  setFlagsFromString("--expose-gc");
  // In contexts created after the flag was set, the global name `gc` refers to V8's function.
  return runInNewContext("gc") as () => void;
}

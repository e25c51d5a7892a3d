// Memory that the engine's thread shares with one that computes masks: a bell that says that there is something to do,
// how much was done, and what is kept. Says nothing of what there is to do.
import type { CacheCounts } from "./constraint-cache.ts";

const [bell, finished, hits, misses, kibibytes, size] = [0, 1, 2, 3, 4, 5];

export class ThreadSignals {
  /** What the other thread makes its signals of. */
  readonly memory: SharedArrayBuffer;
  readonly #words: Int32Array;

  constructor(memory = new SharedArrayBuffer(4 * size)) {
    this.memory = memory;
    this.#words = new Int32Array(memory);
  }

  /** Wakes the other thread, or keeps it from going to sleep. */
  ring(): void {
    Atomics.add(this.#words, bell, 1);
    Atomics.notify(this.#words, bell);
  }

  /** How often it rang. */
  get ringCount(): number {
    return Atomics.load(this.#words, bell);
  }

  /** Blocks the thread until it rings once more than so often; for the thread that has no other work than what is rung for. */
  sleepSince(ringCount: number): void {
    Atomics.wait(this.#words, bell, ringCount);
  }

  /** Pieces of work that the other thread has finished. */
  get finishedCount(): number {
    return Atomics.load(this.#words, finished);
  }

  /** Says that a piece of work is done, and what is kept since. */
  finish(kept: CacheCounts): void {
    this.#words[hits] = kept.hits;
    this.#words[misses] = kept.misses;
    this.#words[kibibytes] = Math.ceil(kept.bytes / 1024);
    Atomics.add(this.#words, finished, 1);
  }

  /** What the other thread keeps. */
  get kept(): CacheCounts {
    const words = this.#words;
    return { hits: words[hits], misses: words[misses], bytes: 1024 * words[kibibytes] };
  }
}

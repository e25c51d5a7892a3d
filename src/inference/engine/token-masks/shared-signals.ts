// Memory shared between the engine's thread and a mask thread, with a bell that announces work, the number of finished
// pieces of work, and cache statistics. The work itself is described in messages and on the board.
import type { CacheCounts } from "./constraint-cache.ts";

const [bell, finished, hits, misses, kibibytes, size] = [0, 1, 2, 3, 4, 5];

export class SharedSignals {
  /** Memory from which the mask thread creates its signals. */
  readonly memory: SharedArrayBuffer;
  readonly #words: Int32Array;

  constructor(memory = new SharedArrayBuffer(4 * size)) {
    this.memory = memory;
    this.#words = new Int32Array(memory);
  }

  /** Announces work: wakes the mask thread, or keeps it from falling asleep before it has looked for work. */
  ring(): void {
    Atomics.add(this.#words, bell, 1);
    Atomics.notify(this.#words, bell);
  }

  /** Number of times that the bell has been rung. */
  get ringCount(): number {
    return Atomics.load(this.#words, bell);
  }

  /**
   * Blocks the thread until the bell has been rung more than `ringCount` times. Only for a thread that waits for no
   * other event.
   */
  sleepSince(ringCount: number): void {
    Atomics.wait(this.#words, bell, ringCount);
  }

  /** Number of pieces of work that the mask thread has finished. */
  get finishedCount(): number {
    return Atomics.load(this.#words, finished);
  }

  /** Counts one more finished piece of work, and publishes the cache statistics. */
  finish(kept: CacheCounts): void {
    this.#words[hits] = kept.hits;
    this.#words[misses] = kept.misses;
    this.#words[kibibytes] = Math.ceil(kept.bytes / 1024);
    Atomics.add(this.#words, finished, 1);
  }

  /** Cache statistics that the mask thread has published. */
  get kept(): CacheCounts {
    const words = this.#words;
    return { hits: words[hits], misses: words[misses], bytes: 1024 * words[kibibytes] };
  }
}

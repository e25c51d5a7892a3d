// Returns unused pages of the database to the file system, a few at a time, while nothing is being written. An error
// only delays this until the next attempt, because no request depends on the size of the file.

/** Time in milliseconds without a write before the first step, and pause in milliseconds between steps. */
const idleMs = 200;
const pauseMs = 20;

export class Shrinking {
  readonly #step: () => Promise<boolean>;
  #timer: NodeJS.Timeout | null = null;
  #isStopped = false;

  /** @param step returns some unused pages to the file system; resolves to true if more remain */
  constructor(step: () => Promise<boolean>) {
    this.#step = step;
  }

  /** Delays the next step. Must be called after every write. */
  postpone(): void {
    this.#after(idleMs);
  }

  stop(): void {
    this.#isStopped = true;
    if (this.#timer !== null) clearTimeout(this.#timer);
  }

  #after(durationMs: number): void {
    if (this.#isStopped) return;
    if (this.#timer !== null) clearTimeout(this.#timer);
    this.#timer = setTimeout(() => void this.#run(), durationMs);
    // Lets the process end while the timer runs.
    this.#timer.unref();
  }

  async #run(): Promise<void> {
    const hasMore = await this.#step().catch(() => false);
    if (hasMore) this.#after(pauseMs);
  }
}

// Returns unused pages to the file system, a few at a time, while nothing is being written. An error ends one attempt
// but not the next: a file that stays large is not any request's fault.

/** Time without a write before the first step, and pause between steps, in milliseconds. */
const idleMs = 200;
const pauseMs = 20;

export class Shrinking {
  readonly #step: () => Promise<boolean>;
  #timer: NodeJS.Timeout | null = null;
  #isStopped = false;

  /** @param step performs one step; true if more remain */
  constructor(step: () => Promise<boolean>) {
    this.#step = step;
  }

  /** Call it after every write. */
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
    // The timer does not keep the process running.
    this.#timer.unref();
  }

  async #run(): Promise<void> {
    const hasMore = await this.#step().catch(() => false);
    if (hasMore) this.#after(pauseMs);
  }
}

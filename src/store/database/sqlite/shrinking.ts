// Gives the pages that nothing uses any more back to the file system: a few at a time, when nothing was written for a
// moment. Errors end one try, not the next: that a file stays large is no fault of anybody's request.

/** Nothing is done before so long has passed without a write, nor so soon after the step before, in milliseconds. */
const idleMs = 200;
const pauseMs = 20;

export class Shrinking {
  readonly #step: () => Promise<boolean>;
  #timer: NodeJS.Timeout | null = null;
  #isStopped = false;

  /** @param step does one; true when there is more to do */
  constructor(step: () => Promise<boolean>) {
    this.#step = step;
  }

  /** To be called after every write. */
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
    // No reason for the process to go on.
    this.#timer.unref();
  }

  async #run(): Promise<void> {
    const hasMore = await this.#step().catch(() => false);
    if (hasMore) this.#after(pauseMs);
  }
}

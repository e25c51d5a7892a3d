// Returns unused pages to the file system, a few at a time, while nothing is being written. An error only delays this
// work until the next attempt. No request fails because of it, since the size of the file does not depend on a single
// request.

/** Time in milliseconds without a write before the first step, and pause between steps. */
const idleMs = 200;
const pauseMs = 20;

export class Shrinking {
  readonly #step: () => Promise<boolean>;
  #timer: NodeJS.Timeout | null = null;
  #isStopped = false;

  /** @param step performs one step; resolves to true if more pages remain */
  constructor(step: () => Promise<boolean>) {
    this.#step = step;
  }

  /** Delays the next step; call it after every write. */
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

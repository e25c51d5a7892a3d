// Notices that somebody who owes work says nothing for too long. Costs one timer while there is work and none otherwise.
import type { Clock } from "../domain/clock.ts";

export interface SilenceOptions {
  readonly clock: Clock;
  readonly deadlineMs: number;
  /** Called once for each time of work in which the deadline passed. */
  readonly onSilence: () => void;
}

export class SilenceWatch {
  readonly #options: SilenceOptions;
  #heardAtMs = 0;
  #working: AbortController | null = null;

  constructor(options: SilenceOptions) {
    this.#options = options;
  }

  /** A sign of life: the deadline begins again. */
  hear(): void {
    this.#heardAtMs = this.#options.clock.monotonicMs();
  }

  /** Whether work is owed. The deadline begins with the work, and silence without work means nothing. */
  setWorking(isWorking: boolean): void {
    if (isWorking === (this.#working !== null)) return;
    this.#working?.abort();
    this.#working = isWorking ? new AbortController() : null;
    if (this.#working === null) return;
    this.hear();
    this.#watch(this.#working.signal).then(
      () => this.#options.onSilence(),
      // The work was done: the sleep has no other reason to reject.
      () => undefined,
    );
  }

  /** Resolves when the deadline has passed in silence. */
  async #watch(signal: AbortSignal): Promise<void> {
    const { clock, deadlineMs } = this.#options;
    for (;;) {
      const remainingMs = this.#heardAtMs + deadlineMs - clock.monotonicMs();
      if (remainingMs <= 0) return;
      const wakeAtMs = clock.monotonicMs() + remainingMs;
      await clock.sleep(remainingMs, { signal });
      // This process was held up itself (stopped by a terminal, say): what was said meanwhile has not been read yet.
      if (clock.monotonicMs() - wakeAtMs > deadlineMs / 2) this.hear();
    }
  }
}

// What a child process shows of itself: whether it is silent while it owes work, and whether it died for lack of memory.
import type { Clock } from "../domain/clock.ts";

/** What is looked at of a process's standard error: V8 says much more behind what it died of. */
export const lastWordsLength = 16_384;

/**
 * How a process ended that lacked memory, in words that follow its name; null where nothing speaks for that.
 *
 * @param how it ended: `was ended by SIGABRT`
 * @param lastWords the end of what it wrote to standard error
 */
export function memoryLack(how: string, lastWords: string): string | null {
  if (lastWords.includes("JavaScript heap out of memory")) {
    // Of the last collection: what was alive then is what filled the heap.
    const size = [...lastWords.matchAll(/-> ([\d.]+) \([\d.]+\) MB/g)].at(-1)?.[1];
    const full = size === undefined ? "" : `, full at ${Math.round(Number(size))} MB`;
    return `ran out of memory (its JavaScript heap${full}) and ${how}`;
  }
  return lastWords.includes("std::bad_alloc") ? `ran out of memory and ${how}` : null;
}

interface SilenceOptions {
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

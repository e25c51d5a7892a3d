// Diagnoses a child process: it recognizes silence while the child has work, and death from lack of memory.
import type { Clock } from "../domain/clock.ts";

/**
 * Number of characters from the end of standard error that are searched. It is high, because V8 writes a long report
 * after the line with the cause.
 */
export const stderrTailLength = 16_384;

/**
 * Returns a clause for an error message, to be placed after the name of the process. It says that the process ran out
 * of memory. Null if nothing indicates this.
 *
 * @param how end of the process, such as `was ended by SIGABRT`
 * @param stderrTail last text that the process wrote to standard error
 */
export function describeOutOfMemory(how: string, stderrTail: string): string | null {
  if (stderrTail.includes("JavaScript heap out of memory")) {
    // Size of the live objects that filled the heap, from V8's last report on garbage collection.
    const size = [...stderrTail.matchAll(/-> ([\d.]+) \([\d.]+\) MB/g)].at(-1)?.[1];
    const full = size === undefined ? "" : `, full at ${Math.round(Number(size))} MB`;
    return `ran out of memory (its JavaScript heap${full}) and ${how}`;
  }
  return stderrTail.includes("std::bad_alloc") ? `ran out of memory and ${how}` : null;
}

interface SilenceOptions {
  readonly clock: Clock;
  readonly deadlineMs: number;
  /** Called when the child has been silent for too long, at most once per period of work. */
  readonly onSilence: () => void;
}

export class SilenceWatch {
  readonly #options: SilenceOptions;
  #heardAtMs = 0;
  #working: AbortController | null = null;

  constructor(options: SilenceOptions) {
    this.#options = options;
  }

  /** Records a heartbeat of the child. The deadline for the next heartbeat begins again. */
  hear(): void {
    this.#heardAtMs = this.#options.clock.monotonicMs();
  }

  /** Begins or ends a period of work. The deadline begins with the work, because a child without work may be silent. */
  setWorking(isWorking: boolean): void {
    if (isWorking === (this.#working !== null)) return;
    this.#working?.abort();
    this.#working = isWorking ? new AbortController() : null;
    if (this.#working === null) return;
    this.hear();
    this.#watch(this.#working.signal).then(
      () => this.#options.onSilence(),
      // The sleep is aborted only when the work has ended, which is no error.
      () => undefined,
    );
  }

  /** Resolves when the child has been silent until the deadline. */
  async #watch(signal: AbortSignal): Promise<void> {
    const { clock, deadlineMs } = this.#options;
    for (;;) {
      const remainingMs = this.#heardAtMs + deadlineMs - clock.monotonicMs();
      if (remainingMs <= 0) return;
      const wakeAtMs = clock.monotonicMs() + remainingMs;
      await clock.sleep(remainingMs, { signal });
      // If this process itself was suspended (for example by a terminal), messages of the child may be unread, so the
      // deadline begins again.
      if (clock.monotonicMs() - wakeAtMs > deadlineMs / 2) this.hear();
    }
  }
}

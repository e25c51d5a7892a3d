// Diagnosis of a child process: detects silence while it has work, and death from lack of memory.
import type { Clock } from "../domain/clock.ts";

/** Length of the tail of standard error that is searched; long, because V8 writes much after the cause of death. */
export const stderrTailLength = 16_384;

/**
 * Describes the end of a process that ran out of memory, as a clause to follow the process's name; null without
 * evidence of that.
 *
 * @param how the process ended, such as `was ended by SIGABRT`
 * @param stderrTail the end of its standard error
 */
export function describeOutOfMemory(how: string, stderrTail: string): string | null {
  if (stderrTail.includes("JavaScript heap out of memory")) {
    // The size in V8's last garbage-collection report: the live objects that filled the heap.
    const size = [...stderrTail.matchAll(/-> ([\d.]+) \([\d.]+\) MB/g)].at(-1)?.[1];
    const full = size === undefined ? "" : `, full at ${Math.round(Number(size))} MB`;
    return `ran out of memory (its JavaScript heap${full}) and ${how}`;
  }
  return stderrTail.includes("std::bad_alloc") ? `ran out of memory and ${how}` : null;
}

interface SilenceOptions {
  readonly clock: Clock;
  readonly deadlineMs: number;
  /** Called at most once per period of work, when the deadline passes in silence. */
  readonly onSilence: () => void;
}

export class SilenceWatch {
  readonly #options: SilenceOptions;
  #heardAtMs = 0;
  #working: AbortController | null = null;

  constructor(options: SilenceOptions) {
    this.#options = options;
  }

  /** Records a heartbeat, which restarts the deadline. */
  hear(): void {
    this.#heardAtMs = this.#options.clock.monotonicMs();
  }

  /** Starts or ends a period of work. The deadline starts with the work; silence without work means nothing. */
  setWorking(isWorking: boolean): void {
    if (isWorking === (this.#working !== null)) return;
    this.#working?.abort();
    this.#working = isWorking ? new AbortController() : null;
    if (this.#working === null) return;
    this.hear();
    this.#watch(this.#working.signal).then(
      () => this.#options.onSilence(),
      // The sleep rejects only when the work has ended.
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
      // If this process itself was suspended (by a terminal, for example), messages may still be unread, so the
      // deadline restarts.
      if (clock.monotonicMs() - wakeAtMs > deadlineMs / 2) this.hear();
    }
  }
}

// Whether a database is there, as far as was tried: who loses it says so, it is then tried again and again, and who waits
// for it is told once it is back. Knows nothing of what is asked.
import { setTimeout as sleep } from "node:timers/promises";
import { systemClock } from "../../../base/domain/clock.ts";

/** Pauses between tries, in milliseconds: they double up to the last, which repeats. */
const firstPauseMs = 20;
const longestPauseMs = 1000;

export interface ReachOptions {
  /** Resolves where the database answers. */
  readonly probe: () => Promise<void>;
  /** Called when the database is known to be away, with why, and with null when it is back. */
  readonly onChange: (fault: string | null) => void;
}

export class Reach {
  readonly #options: ReachOptions;
  readonly #stopping = new AbortController();
  /** Resolves when it is back; null while nothing says that it is away. */
  #back: Promise<void> | null = null;
  #fault: string | null = null;

  constructor(options: ReachOptions) {
    this.#options = options;
  }

  /** Why it cannot be reached, for people; null where nothing says so. */
  get fault(): string | null {
    return this.#fault;
  }

  /** That a connection was lost, which one try may show to have been that one alone. */
  lose(): void {
    this.#back ??= this.#tryUntilBack();
  }

  /** Resolves when it is back, or when the time is over: whether it is back. */
  async wait(untilMs: number): Promise<boolean> {
    if (this.#back === null) return true;
    const ended = new AbortController();
    const timeMs = Math.max(0, untilMs - systemClock.monotonicMs());
    const tooLate = sleep(timeMs, undefined, { signal: ended.signal }).catch(() => undefined);
    await Promise.race([this.#back, tooLate]);
    ended.abort();
    return this.#back === null;
  }

  /** Tries no more; who waits is told that it is not back. */
  stop(): void {
    this.#stopping.abort();
  }

  async #tryUntilBack(): Promise<void> {
    const { signal } = this.#stopping;
    for (let pauseMs = firstPauseMs; !signal.aborted; pauseMs = Math.min(2 * pauseMs, longestPauseMs)) {
      try {
        await this.#options.probe();
        this.#back = null;
        if (this.#fault !== null) this.#say(null);
        return;
      } catch (error) {
        const fault = reasonOf(error);
        if (this.#fault === null) this.#say(fault);
        this.#fault = fault;
      }
      // Cut short by the stop alone.
      await sleep(pauseMs, undefined, { signal }).catch(() => undefined);
    }
  }

  #say(fault: string | null): void {
    this.#fault = fault;
    this.#options.onChange(fault);
  }
}

/** What an error says, in one line. That of several addresses has no words of its own. */
export function reasonOf(error: unknown): string {
  if (error instanceof AggregateError && error.message === "") return error.errors.map(reasonOf).join("; ");
  return error instanceof Error ? error.message : String(error);
}

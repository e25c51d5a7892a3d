// Tracks whether a database can be reached. A caller reports a lost connection; the tracker then probes until the
// database is back and wakes the waiters. It knows nothing of the queries.
import { setTimeout as sleep } from "node:timers/promises";
import { systemClock } from "../../../base/domain/clock.ts";

/** Pauses between probes, in milliseconds; they double up to the longest, which repeats. */
const firstPauseMs = 20;
const longestPauseMs = 1000;

export interface ReachOptions {
  /** Resolves if the database answers. */
  readonly probe: () => Promise<void>;
  /** Receives the reason when the database becomes unreachable, and null when it is back. */
  readonly onChange: (fault: string | null) => void;
}

export class Reach {
  readonly #options: ReachOptions;
  readonly #stopping = new AbortController();
  /** Resolves when the database is back; null while it is not known to be away. */
  #back: Promise<void> | null = null;
  #fault: string | null = null;

  constructor(options: ReachOptions) {
    this.#options = options;
  }

  /** Reason why the database cannot be reached, for people; null if no problem is known. */
  get fault(): string | null {
    return this.#fault;
  }

  /** Reports a lost connection. The first probe may show that only that connection was affected. */
  lose(): void {
    this.#back ??= this.#tryUntilBack();
  }

  /** Resolves when the database is back or the time is over. Returns true if it is back. */
  async wait(untilMs: number): Promise<boolean> {
    if (this.#back === null) return true;
    const ended = new AbortController();
    const timeMs = Math.max(0, untilMs - systemClock.monotonicMs());
    const tooLate = sleep(timeMs, undefined, { signal: ended.signal }).catch(() => undefined);
    await Promise.race([this.#back, tooLate]);
    ended.abort();
    return this.#back === null;
  }

  /** Stops probing; waiters resolve with false. */
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
      // Only a stop cuts this short.
      await sleep(pauseMs, undefined, { signal }).catch(() => undefined);
    }
  }

  #say(fault: string | null): void {
    this.#fault = fault;
    this.#options.onChange(fault);
  }
}

/** Returns an error's message on one line. An AggregateError of several addresses has no message itself. */
export function reasonOf(error: unknown): string {
  if (error instanceof AggregateError && error.message === "") return error.errors.map(reasonOf).join("; ");
  return error instanceof Error ? error.message : String(error);
}

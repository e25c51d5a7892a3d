// Tracks whether a database can be reached. After a caller reports a lost connection, the tracker probes the database
// until it answers, and then wakes the callers that wait. The tracker does not know which queries are executed.
import { setTimeout as sleep } from "node:timers/promises";
import { systemClock } from "../../../base/domain/clock.ts";

/** First and longest pause between probes, in milliseconds. Pauses double until the longest, which is then repeated. */
const firstPauseMs = 20;
const longestPauseMs = 1000;

export interface ReachOptions {
  /** Resolves if the database answers, and rejects otherwise. */
  readonly probe: () => Promise<void>;
  /** Called with the reason when the database can no longer be reached, and with null when it can be reached again. */
  readonly onChange: (fault: string | null) => void;
}

export class Reach {
  readonly #options: ReachOptions;
  readonly #stopping = new AbortController();
  /** Resolves when the database can be reached again; null while no connection loss is known. */
  #back: Promise<void> | null = null;
  #fault: string | null = null;

  constructor(options: ReachOptions) {
    this.#options = options;
  }

  /** Human-readable reason why the database cannot be reached; null if it can, as far as is known. */
  get fault(): string | null {
    return this.#fault;
  }

  /** Reports a lost connection. If the first probe succeeds, only that connection was affected. */
  lose(): void {
    this.#back ??= this.#tryUntilBack();
  }

  /**
   * Resolves when the database can be reached or the deadline has passed. Returns true if the database can be reached.
   */
  async wait(untilMs: number): Promise<boolean> {
    if (this.#back === null) return true;
    const ended = new AbortController();
    const timeMs = Math.max(0, untilMs - systemClock.monotonicMs());
    const tooLate = sleep(timeMs, undefined, { signal: ended.signal }).catch(() => undefined);
    await Promise.race([this.#back, tooLate]);
    ended.abort();
    return this.#back === null;
  }

  /** Stops probing. Waiting calls resolve to false. */
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
      // The pause ends early only when the tracker stops.
      await sleep(pauseMs, undefined, { signal }).catch(() => undefined);
    }
  }

  #say(fault: string | null): void {
    this.#fault = fault;
    this.#options.onChange(fault);
  }
}

/**
 * Returns an error's message on one line. The AggregateError of a host with several addresses has no message itself,
 * so its errors' messages are joined.
 */
export function reasonOf(error: unknown): string {
  if (error instanceof AggregateError && error.message === "") return error.errors.map(reasonOf).join("; ");
  return error instanceof Error ? error.message : String(error);
}

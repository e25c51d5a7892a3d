// Tracks whether a database can be reached. After a caller reports a lost connection, the tracker probes the database
// until it answers, and then wakes the waiting callers. Knows nothing about queries.
import { setTimeout as sleep } from "node:timers/promises";
import { systemClock } from "../../../base/domain/clock.ts";

/**
 * Pause between probes in milliseconds. It starts at `firstPauseMs`, doubles each time, and is at most
 * `longestPauseMs`.
 */
const firstPauseMs = 20;
const longestPauseMs = 1000;

export interface ReachOptions {
  /** Sends the database a trivial query. Resolves if the database answers, and rejects otherwise. */
  readonly probe: () => Promise<void>;
  /** Called with the reason when the database becomes unreachable, and with null when it is reachable again. */
  readonly onChange: (fault: string | null) => void;
}

export class Reach {
  readonly #options: ReachOptions;
  readonly #stopping = new AbortController();
  /** Resolves when the database is reachable again; null while no connection is known to be lost. */
  #back: Promise<void> | null = null;
  #fault: string | null = null;

  constructor(options: ReachOptions) {
    this.#options = options;
  }

  /** Human-readable reason why the database cannot be reached; null if no problem is known. */
  get fault(): string | null {
    return this.#fault;
  }

  /** Reports a lost connection. If the first probe succeeds, only that connection was affected. */
  lose(): void {
    this.#back ??= this.#tryUntilBack();
  }

  /** Waits until the database is reachable or the deadline has passed. Resolves to true if it is reachable. */
  async wait(untilMs: number): Promise<boolean> {
    if (this.#back === null) return true;
    const ended = new AbortController();
    const timeMs = Math.max(0, untilMs - systemClock.monotonicMs());
    const tooLate = sleep(timeMs, undefined, { signal: ended.signal }).catch(() => undefined);
    await Promise.race([this.#back, tooLate]);
    ended.abort();
    return this.#back === null;
  }

  /** Stops probing. Waiting callers get false. */
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
      // The sleep rejects only if the tracker stops.
      await sleep(pauseMs, undefined, { signal }).catch(() => undefined);
    }
  }

  #say(fault: string | null): void {
    this.#fault = fault;
    this.#options.onChange(fault);
  }
}

/**
 * Returns the message of an error on one line. The AggregateError for a host with several addresses has no message, so
 * the messages of the errors that it contains are joined.
 */
export function reasonOf(error: unknown): string {
  if (error instanceof AggregateError && error.message === "") return error.errors.map(reasonOf).join("; ");
  return error instanceof Error ? error.message : String(error);
}

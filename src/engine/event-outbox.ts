// What the loop puts out on its way to the server's process: tokens of fast steps are gathered, since a message for each
// step, and what follows it up to the client's socket, costs more than a small model's step itself.
import type { Clock } from "../domain/clock.ts";
import type { LoopOutput } from "./loop/settle.ts";

export interface OutboxOptions {
  /** At most so long after the message before are tokens kept back; 0 keeps none. */
  readonly intervalMs: number;
  readonly clock: Clock;
  readonly send: (outputs: readonly LoopOutput[]) => void;
}

/** Keeps the order of what is put into it. */
export class EventOutbox {
  readonly #options: OutboxOptions;
  #kept: LoopOutput[] = [];
  #sentAtMs = -Infinity;
  /** Ends the wait for the interval's end; null while nothing is kept back. */
  #waiting: AbortController | null = null;

  constructor(options: OutboxOptions) {
    this.#options = options;
  }

  /** Sends at once what begins or ends an answer, and everything once the interval is over: slow steps go out each. */
  put(outputs: readonly LoopOutput[]): void {
    const { clock, intervalMs } = this.#options;
    this.#kept.push(...outputs);
    const isDue = clock.monotonicMs() - this.#sentAtMs >= intervalMs;
    if (isDue || !outputs.every(isOnlyTokens)) this.flush();
    else if (this.#waiting === null) void this.#flushLater();
  }

  flush(): void {
    this.#waiting?.abort();
    this.#waiting = null;
    const kept = this.#kept;
    this.#kept = [];
    this.#sentAtMs = this.#options.clock.monotonicMs();
    this.#options.send(kept);
  }

  async #flushLater(): Promise<void> {
    const { clock, intervalMs } = this.#options;
    const waiting = new AbortController();
    this.#waiting = waiting;
    const waitMs = this.#sentAtMs + intervalMs - clock.monotonicMs();
    await clock.sleep(waitMs, { signal: waiting.signal }).catch(() => undefined);
    if (!waiting.signal.aborted) this.flush();
  }
}

function isOnlyTokens(output: LoopOutput): boolean {
  return output.kind === "event" && output.event.kind === "tokens";
}

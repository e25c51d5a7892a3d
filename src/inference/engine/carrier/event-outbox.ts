// What comes of an engine's calls on its way to the server's process: tokens of fast steps are gathered, since a message
// for each step, and what follows it up to the client's socket, costs more than a small model's step itself.
import type { Clock } from "../../../base/domain/clock.ts";
import type { CallOutput } from "./packed-outputs.ts";

export interface OutboxOptions {
  /** At most so long after the message before are tokens kept back, and longer where many requests have some; 0 keeps none. */
  readonly intervalMs: number;
  readonly clock: Clock;
  readonly send: (outputs: readonly CallOutput[]) => void;
}

/** More requests than this make the interval longer in proportion: what they cost the server together grows no further. */
const requestCountOfInterval = 32;
/** Of how many intervals the longest one is. */
const growthMax = 4;

/** Keeps the order of what is put into it for each request. */
export class EventOutbox {
  readonly #options: OutboxOptions;
  #kept: CallOutput[] = [];
  #sentAtMs = -Infinity;
  /** Whether a step was put since the last message: its own is due also where it brought nothing. */
  #isOwing = false;
  #isWaiting = false;

  constructor(options: OutboxOptions) {
    this.#options = options;
  }

  /**
   * Sends everything once the interval is over, so that slow steps go out each, and at once what there is of a request
   * whose answer begins or ends.
   */
  put(outputs: readonly CallOutput[]): void {
    this.#kept.push(...outputs);
    this.#isOwing = true;
    if (this.#restMs() <= 0) this.flush();
    else this.#sendOf(new Set(outputs.filter((output) => !isOnlyTokens(output)).map(({ call }) => call)));
    if (this.#isOwing && !this.#isWaiting) void this.#flushLater();
  }

  /** Sends everything, also where there is nothing: the message says what the engine holds by now. */
  flush(): void {
    const kept = this.#kept;
    this.#kept = [];
    this.#isOwing = false;
    this.#sentAtMs = this.#options.clock.monotonicMs();
    this.#options.send(kept);
  }

  /** How long the interval still lasts. */
  #restMs(): number {
    const requestCount = new Set(this.#kept.map(({ call }) => call)).size;
    const growth = Math.min(Math.max(requestCount / requestCountOfInterval, 1), growthMax);
    return this.#sentAtMs + growth * this.#options.intervalMs - this.#options.clock.monotonicMs();
  }

  #sendOf(calls: ReadonlySet<number>): void {
    if (calls.size === 0) return;
    const kept = this.#kept;
    this.#kept = kept.filter(({ call }) => !calls.has(call));
    this.#isOwing = this.#kept.length > 0;
    this.#options.send(kept.filter(({ call }) => calls.has(call)));
  }

  /** Waits while there is something to wait for; steps meanwhile may have sent what it began with. */
  async #flushLater(): Promise<void> {
    this.#isWaiting = true;
    while (this.#isOwing && this.#restMs() > 0) await this.#options.clock.sleep(this.#restMs());
    this.#isWaiting = false;
    if (this.#isOwing) this.flush();
  }
}

function isOnlyTokens(output: CallOutput): boolean {
  return output.kind === "event" && output.event.kind === "tokens";
}

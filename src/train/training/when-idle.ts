// Does something once there has been no work for a while, such as giving back what only work needs.
import type { Clock } from "../../base/domain/clock.ts";

export class WhenIdle {
  readonly #clock: Clock;
  readonly #durationMs: number;
  readonly #act: () => Promise<void>;
  #workCount = 0;
  /** Aborts the wait of a time without work. */
  #idling = new AbortController();

  /** @param act done once in each time without work that lasts so long; work that begins meanwhile does not wait for it */
  constructor(clock: Clock, durationMs: number, act: () => Promise<void>) {
    this.#clock = clock;
    this.#durationMs = durationMs;
    this.#act = act;
  }

  /** Does some work. Works may overlap: the time without work begins when the last of them is over, however it ends. */
  async during<Result>(work: () => Promise<Result>): Promise<Result> {
    this.#workCount++;
    this.#idling.abort();
    try {
      return await work();
    } finally {
      this.#workCount--;
      if (this.#workCount === 0) this.#wait();
    }
  }

  #wait(): void {
    this.#idling = new AbortController();
    this.#clock.sleep(this.#durationMs, { signal: this.#idling.signal }).then(
      () => this.#act(),
      // There is work again: the sleep has no other reason to reject.
      () => undefined,
    );
  }
}

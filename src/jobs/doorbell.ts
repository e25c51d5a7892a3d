// A wait that another part of the process can cut short. For one waiter; a ring that finds nobody waiting is kept for
// the next wait, so that nothing told between looking and waiting is missed.
import type { Clock } from "../domain/clock.ts";

export class Doorbell {
  readonly #clock: Clock;
  #isRung = false;
  #wake: (() => void) | null = null;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  ring(): void {
    this.#isRung = true;
    this.#wake?.();
  }

  /** Resolves after `timeoutMs`, at a ring, or when the signal aborts, whichever is first; never rejects. */
  async wait(timeoutMs: number, { signal }: { readonly signal: AbortSignal }): Promise<void> {
    if (!this.#isRung && !signal.aborted) {
      const woken = new AbortController();
      const wake = (): void => woken.abort();
      this.#wake = wake;
      signal.addEventListener("abort", wake, { once: true });
      // A sleep rejects only when it is cut short, which is what the bell is for.
      await this.#clock.sleep(timeoutMs, { signal: woken.signal }).catch(() => undefined);
      signal.removeEventListener("abort", wake);
      this.#wake = null;
    }
    this.#isRung = false;
  }
}

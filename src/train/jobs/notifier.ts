// A wait that another part of the process can cut short. For one waiter; a notification that finds nobody waiting is kept
// for the next wait, so that none is missed between looking and waiting.
import type { Clock } from "../../base/domain/clock.ts";
import { waitOver } from "../../base/domain/waiting/wait-over.ts";

export class Notifier {
  readonly #clock: Clock;
  #isNotified = false;
  #wake: (() => void) | null = null;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  notify(): void {
    this.#isNotified = true;
    this.#wake?.();
  }

  /** Resolves after `timeoutMs`, when notified, or when the signal aborts, whichever is first; never rejects. */
  async wait(timeoutMs: number, { signal }: { readonly signal: AbortSignal }): Promise<void> {
    if (!this.#isNotified && !signal.aborted) {
      const woken = new AbortController();
      const wake = (): void => woken.abort(waitOver);
      this.#wake = wake;
      signal.addEventListener("abort", wake, { once: true });
      // A sleep rejects only when it is cut short, which a notification does.
      await this.#clock.sleep(timeoutMs, { signal: woken.signal }).catch(() => undefined);
      signal.removeEventListener("abort", wake);
      this.#wake = null;
    }
    this.#isNotified = false;
  }
}

// Turns for clients that share something: a number of them at once, one of each client, and whose turn it is goes round
// among those who wait. Knows nothing of what is done in a turn.
import { systemClock } from "../../../base/domain/clock.ts";
import { TenantShares } from "../../../base/domain/sharing/tenant-shares.ts";

/** Why a turn did not come. */
export type TurnRefusal = "too late" | "too many";

interface Waiter {
  readonly begin: (end: () => void) => void;
  readonly refuse: () => void;
  readonly timer: NodeJS.Timeout;
}

export class FairTurns {
  readonly #countMax: number;
  readonly #places: TenantShares;
  readonly #running = new Set<string>();
  /** Who has waited longest for a turn comes first. */
  readonly #waiting = new Map<string, readonly Waiter[]>();

  /** @param countMax of all clients together @param waitingMax of all clients together, of which each has its share */
  constructor(countMax: number, waitingMax: number) {
    this.#countMax = countMax;
    this.#places = new TenantShares(waitingMax);
  }

  /**
   * Waits for a turn.
   *
   * @param untilMs by the monotonic clock
   * @returns what ends it, or why it does not come
   */
  async take(client: string, untilMs: number): Promise<(() => void) | TurnRefusal> {
    if (this.#running.size < this.#countMax && !this.#running.has(client) && this.#places.used === 0)
      return this.#begin(client);
    if (!this.#places.take(client, 1)) return "too many";
    return new Promise((resolve) => {
      const refuse = (): void => {
        this.#remove(client, waiter);
        resolve("too late");
      };
      const waitMs = Math.max(0, untilMs - systemClock.monotonicMs());
      const waiter: Waiter = { begin: resolve, refuse, timer: setTimeout(refuse, waitMs) };
      this.#waiting.set(client, [...(this.#waiting.get(client) ?? []), waiter]);
      this.#next();
    });
  }

  /** Refuses everybody who waits. */
  refuseAll(): void {
    for (const waiters of this.#waiting.values()) for (const { refuse } of waiters) refuse();
  }

  #begin(client: string): () => void {
    this.#running.add(client);
    return () => {
      this.#running.delete(client);
      this.#next();
    };
  }

  #next(): void {
    for (const [client, [waiter]] of this.#waiting) {
      if (this.#running.size >= this.#countMax) return;
      if (this.#running.has(client)) continue;
      this.#remove(client, waiter);
      // Behind all others that wait.
      const rest = this.#waiting.get(client);
      if (rest !== undefined) {
        this.#waiting.delete(client);
        this.#waiting.set(client, rest);
      }
      waiter.begin(this.#begin(client));
    }
  }

  #remove(client: string, waiter: Waiter): void {
    clearTimeout(waiter.timer);
    const waiting = this.#waiting.get(client) ?? [];
    const rest = waiting.filter((other) => other !== waiter);
    this.#places.change(client, rest.length - waiting.length);
    if (rest.length === 0) this.#waiting.delete(client);
    else this.#waiting.set(client, rest);
  }
}

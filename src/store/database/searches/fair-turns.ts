// Fair turns for clients that share a resource. A limited number of turns run at the same time, at most one for each
// client; waiting clients alternate. Knows nothing about the work that is done in a turn.
import { systemClock } from "../../../base/domain/clock.ts";
import { TenantShares } from "../../../base/domain/sharing/tenant-shares.ts";

/** Reason why a client was refused a turn. */
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
  /** Waiting requests by client. The client that has waited longest comes first. */
  readonly #waiting = new Map<string, readonly Waiter[]>();

  /**
   * @param countMax maximum number of turns at the same time, of all clients together
   * @param waitingMax maximum number of waiting requests of all clients together; each client may use only its share of
   * this number
   */
  constructor(countMax: number, waitingMax: number) {
    this.#countMax = countMax;
    this.#places = new TenantShares(waitingMax);
  }

  /**
   * Waits for a turn of the client.
   *
   * @param untilMs deadline on the monotonic clock
   * @returns a function that ends the turn, or the reason why the turn was refused
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

  /** Refuses a turn to all waiting requests. */
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
      // Puts the client behind all other waiting clients.
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

// Memory budget for stored data that requests read and hold until they are answered. If there is no room, a reader
// waits instead of being refused, because other readers end soon. This module only counts bytes.
import { ServiceError } from "../../../base/domain/service-error.ts";
import { TenantShares } from "../../../base/domain/sharing/tenant-shares.ts";

export interface ReadLimits {
  /** Maximum number of bytes that all readers together may hold. */
  readonly bytesMax: number;
  readonly waitingMax: number;
  readonly waitSeconds: number;
}

const mebibyte = 1 << 20;

/**
 * Bytes that a reader of ordinary content holds: enough for a page of 4 MiB or a Parquet row group of 8 MiB, as stored
 * and as written to the answer.
 */
export const readerBytes = 8 * mebibyte;

interface Waiter {
  readonly client: string;
  readonly byteCount: number;
  readonly begin: () => void;
}

export class ReadBudget {
  readonly #limits: ReadLimits;
  readonly #shares: TenantShares;
  readonly #slots: TenantShares;
  /** Waiting readers in order of arrival. */
  #waiting: readonly Waiter[] = [];

  constructor(limits: ReadLimits) {
    this.#limits = limits;
    this.#shares = new TenantShares(limits.bytesMax);
    this.#slots = new TenantShares(limits.waitingMax);
  }

  /** Number of bytes that all readers together hold. */
  get used(): number {
    return this.#shares.used;
  }

  get waitingCount(): number {
    return this.#waiting.length;
  }

  /** Returns the share of one reader, which does not hold any bytes yet. */
  share(client: string, signal: AbortSignal): ReadShare {
    return new ReadShare({
      take: (byteCount) => this.#take({ client, byteCount }, signal),
      giveBack: (byteCount) => {
        this.#shares.change(client, -byteCount);
        this.#admit();
      },
    });
  }

  #take({ client, byteCount }: Omit<Waiter, "begin">, signal: AbortSignal): Promise<void> {
    const { waitSeconds } = this.#limits;
    return new Promise((resolve, reject) => {
      signal.throwIfAborted();
      const giveUp = (reason: unknown): void => {
        this.#leave(waiter);
        settle();
        reject(reason);
        this.#admit();
      };
      const onAbort = (): void => giveUp(signal.reason);
      const patience = setTimeout(() => giveUp(waitedTooLong(waitSeconds)), waitSeconds * 1000);
      const settle = (): void => {
        clearTimeout(patience);
        signal.removeEventListener("abort", onAbort);
      };
      const begin = (): void => {
        settle();
        this.#shares.change(client, byteCount);
        resolve();
      };
      const waiter = { client, byteCount, begin };
      signal.addEventListener("abort", onAbort, { once: true });
      const hasSlot = this.#slots.roomFor(client) >= 1;
      this.#slots.change(client, 1);
      this.#waiting = [...this.#waiting, waiter];
      this.#admit();
      if (!hasSlot && this.#waiting.includes(waiter)) giveUp(tooManyWait(this.#slots.usedBy(client) - 1));
    });
  }

  #leave(waiter: Waiter): void {
    this.#waiting = this.#waiting.filter((one) => one !== waiter);
    this.#slots.change(waiter.client, -1);
  }

  /**
   * Admits waiting readers while there is room. Readers of the client that holds the fewest bytes come first, in order
   * of arrival.
   */
  #admit(): void {
    for (let next = this.#next(); next !== undefined; next = this.#next()) {
      const begun = next;
      this.#leave(begun);
      begun.begin();
    }
  }

  /**
   * Returns the waiting reader whose turn it is; undefined if there is no room for that reader yet. A smaller reader
   * does not overtake it, because the larger one might then wait forever.
   */
  #next(): Waiter | undefined {
    const usedBy = ({ client }: Waiter): number => this.#shares.usedBy(client);
    const { used, max } = this.#shares;
    const next = this.#waiting
      .filter((one) => usedBy(one) === 0 || one.byteCount <= this.#shares.roomFor(one.client))
      .reduce<Waiter | undefined>(
        (best, one) => (best === undefined || usedBy(one) < usedBy(best) ? one : best),
        undefined,
      );
    // A reader that needs more than the whole budget runs when no other reader holds bytes.
    const fits = next !== undefined && (used === 0 || used + next.byteCount <= max);
    return fits ? next : undefined;
  }
}

interface Lender {
  readonly take: (byteCount: number) => Promise<void>;
  readonly giveBack: (byteCount: number) => void;
}

/** Bytes of the budget that one reader holds. The reader must release them. */
export class ReadShare {
  readonly #budget: Lender;
  #held = 0;
  #isReleased = false;

  constructor(budget: Lender) {
    this.#budget = budget;
  }

  /**
   * Changes the number of bytes held: a decrease takes effect immediately, an increase waits for room. While it waits,
   * the reader holds no bytes, so that no two readers wait for each other; it must therefore keep no data in memory.
   * Does nothing after `release`.
   *
   * @throws ServiceError `overloaded` if too many readers wait, or if this reader waited too long; the signal's reason
   * once it aborts
   */
  async hold(byteCount: number): Promise<void> {
    if (this.#isReleased) return;
    if (byteCount <= this.#held) return this.#keep(byteCount);
    this.#keep(0);
    await this.#budget.take(byteCount);
    this.#held = byteCount;
    if (this.#isReleased) this.#keep(0);
  }

  /** Releases all bytes. Idempotent. */
  release(): void {
    this.#isReleased = true;
    this.#keep(0);
  }

  #keep(byteCount: number): void {
    const freed = this.#held - byteCount;
    this.#held = byteCount;
    if (freed > 0) this.#budget.giveBack(freed);
  }
}

function tooManyWait(count: number): ServiceError {
  const message = `${count} requests of this entity already wait to read stored data, which is its limit. Try again in 5 s.`;
  return new ServiceError({ code: "overloaded", message, retryAfterSeconds: 5 });
}

function waitedTooLong(waitSeconds: number): ServiceError {
  const message = `Other requests read so much that this one got no turn within ${waitSeconds} s. Try again in 5 s.`;
  return new ServiceError({ code: "overloaded", message, retryAfterSeconds: 5 });
}

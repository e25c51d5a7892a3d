// Divides something bounded (bytes, connections, waiting places) among tenants, so that none can take it all. Counts only:
// what to do when there is no room (refuse, wait, close something) is up to the caller.

/** The tenant of everybody who has shown no key. No entity has this name. */
export const keyless = "";

/** The part of the whole that only guaranteed shares may use. */
const reservedPart = 1 / 16;
/** So many tenants find their guaranteed share in the reserve, whatever all others hold. */
const guaranteedTenants = 64;

/** How much more a tenant that holds `own` of what is `used` may take; 0 if it has its share. */
export function roomInShare({
  max,
  used,
  own,
}: {
  readonly max: number;
  readonly used: number;
  readonly own: number;
}): number {
  const left = max - used;
  const half = Math.ceil((left + own) / 2) - own;
  const shared = Math.min(half, left - reserveOf(max));
  const guaranteed = Math.min(guaranteedOf(max) - own, left);
  return Math.max(0, shared, guaranteed);
}

function guaranteedOf(max: number): number {
  return Math.max(1, Math.floor(reserveOf(max) / guaranteedTenants));
}

function reserveOf(max: number): number {
  return Math.floor(max * reservedPart);
}

/**
 * Shares of one bounded whole. A tenant may hold at most half of what the others leave, so that even many greedy tenants
 * leave room for one more. Below its guaranteed share a tenant may always take, as long as anything is left; a reserve that
 * nothing else may use keeps that share for 64 tenants at once.
 */
export class TenantShares {
  readonly #max: number;
  readonly #usedBy = new Map<string, number>();
  #used = 0;

  /** @param max of all tenants together; at least 1 */
  constructor(max: number) {
    this.#max = max;
  }

  /** Held by all tenants together. */
  get used(): number {
    return this.#used;
  }

  get max(): number {
    return this.#max;
  }

  /** Amount that each tenant may always hold, regardless of the others. */
  get guaranteed(): number {
    return guaranteedOf(this.#max);
  }

  usedBy(tenant: string): number {
    return this.#usedBy.get(tenant) ?? 0;
  }

  /** How much more the tenant may take now; 0 if it has its share. */
  roomFor(tenant: string): number {
    return roomInShare({ max: this.#max, used: this.#used, own: this.usedBy(tenant) });
  }

  /** Takes so much, or nothing if the tenant has no room for all of it. */
  take(tenant: string, count: number): boolean {
    if (count > this.roomFor(tenant)) return false;
    this.change(tenant, count);
    return true;
  }

  /** Takes one; returns the function that gives it back, which is idempotent, or null if the tenant has its share. */
  enter(tenant: string): (() => void) | null {
    if (!this.take(tenant, 1)) return null;
    let isHeld = true;
    return () => {
      if (isHeld) this.change(tenant, -1);
      isHeld = false;
    };
  }

  /** Takes so much even beyond the tenant's share, or gives back where `count` is negative. */
  change(tenant: string, count: number): void {
    const held = this.usedBy(tenant) + count;
    this.#used += count;
    if (held === 0) this.#usedBy.delete(tenant);
    else this.#usedBy.set(tenant, held);
  }
}

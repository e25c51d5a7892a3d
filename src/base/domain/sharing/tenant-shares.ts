// Divides a limited resource (bytes, connections, places in a queue) among tenants, so that no tenant can take all of
// it. This module only counts. If a tenant has reached its share, the caller decides whether to refuse, to wait, or to
// close something.

/** Name under which all requests without a valid key count as one tenant. No entity has this name. */
export const keyless = "";

/** Fraction of the resource that is reserved for guaranteed shares. */
const reservedPart = 1 / 16;
/** Number of tenants that can use their guaranteed shares from the reserve at the same time. */
const guaranteedTenants = 64;

/**
 * Returns how much more a tenant may take; 0 if it has reached its share.
 *
 * @param own amount that the tenant already holds; it is included in `used`, the amount that all tenants hold
 */
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
 * Shares of one limited resource. A tenant may hold at most half of the amount that other tenants have not taken, so
 * that there is always room for one more tenant. A tenant may always take its guaranteed share; a reserve makes this
 * possible for 64 tenants at the same time.
 */
export class TenantShares {
  readonly #max: number;
  readonly #usedBy = new Map<string, number>();
  #used = 0;

  /** @param max amount of the resource for all tenants together; at least 1 */
  constructor(max: number) {
    this.#max = max;
  }

  /** Amount held by all tenants together. */
  get used(): number {
    return this.#used;
  }

  get max(): number {
    return this.#max;
  }

  /** Amount that each tenant may always hold, regardless of other tenants. */
  get guaranteed(): number {
    return guaranteedOf(this.#max);
  }

  usedBy(tenant: string): number {
    return this.#usedBy.get(tenant) ?? 0;
  }

  /** Returns how much more of the resource the tenant may take now; 0 if it has reached its share. */
  roomFor(tenant: string): number {
    return roomInShare({ max: this.#max, used: this.#used, own: this.usedBy(tenant) });
  }

  /**
   * Takes the whole `count` for the tenant and returns true. If the tenant has no room for it, takes nothing and
   * returns false.
   */
  take(tenant: string, count: number): boolean {
    if (count > this.roomFor(tenant)) return false;
    this.change(tenant, count);
    return true;
  }

  /**
   * Takes one unit of the resource. Returns an idempotent function that gives it back; null if the tenant has reached
   * its share.
   */
  enter(tenant: string): (() => void) | null {
    if (!this.take(tenant, 1)) return null;
    let isHeld = true;
    return () => {
      if (isHeld) this.change(tenant, -1);
      isHeld = false;
    };
  }

  /** Takes `count` for the tenant, even if this exceeds its share. A negative `count` gives back. */
  change(tenant: string, count: number): void {
    const held = this.usedBy(tenant) + count;
    this.#used += count;
    if (held === 0) this.#usedBy.delete(tenant);
    else this.#usedBy.set(tenant, held);
  }
}

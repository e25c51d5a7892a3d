// Limits how many requests of each entity may wait for engines. Each entity gets a share of the slots, so its next
// request finds one, no matter how many requests another entity sends. All engines of a server share these slots,
// because their requests may wait for the same memory.
import { ServiceError } from "../../base/domain/service-error.ts";
import { TenantShares } from "../../base/domain/sharing/tenant-shares.ts";

export class WaitingSlots {
  readonly #shares: TenantShares;

  /** @param countMax maximum number of waiting requests */
  constructor(countMax: number) {
    this.#shares = new TenantShares(countMax);
  }

  /**
   * Takes a slot.
   *
   * @returns a function to call when the request no longer waits; idempotent
   * @throws ServiceError `overloaded` if the entity already uses its share of the slots
   */
  enter(entity: string): () => void {
    const leave = this.#shares.enter(entity);
    if (leave === null) throw noSlot(entity, this.#shares.usedBy(entity));
    return leave;
  }
}

function noSlot(entity: string, count: number): ServiceError {
  const message = `${count} requests of the entity "${entity}" already wait for a model, its share of engine.waitingCountMax. Try again when some have begun.`;
  return new ServiceError({ code: "overloaded", message, retryAfterSeconds: 2 });
}

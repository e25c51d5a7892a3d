// Reads and sets the limits that all keys of an entity share. Callers of this service check that the user is an
// administrator.
import type { KeyLimits, LimitStore } from "../../../base/domain/keys/limits.ts";
import { requireValidEntity } from "../key-secret.ts";
import { requireValidLimits } from "./check-limits.ts";

export interface EntityLimits {
  /**
   * Returns the limits that an administrator has set for the entity. A limit that is null was not set, so the server's
   * setting applies.
   *
   * @throws ServiceError `invalid` for an invalid entity
   */
  find(entity: string): Promise<KeyLimits>;
  /**
   * Changes the given limits of an entity, even if it has no keys yet. The new limits apply to requests that arrive
   * later.
   *
   * @throws ServiceError `invalid` for an invalid entity or limit
   */
  change(entity: string, limits: Partial<KeyLimits>): Promise<KeyLimits>;
}

export function createEntityLimits(
  store: Pick<LimitStore, "findEntityLimits" | "changeEntityLimits">,
): EntityLimits {
  return {
    find: async (entity) => {
      requireValidEntity(entity);
      return store.findEntityLimits(entity);
    },
    change: async (entity, limits) => {
      requireValidEntity(entity);
      requireValidLimits(limits);
      return store.changeEntityLimits(entity, limits);
    },
  };
}

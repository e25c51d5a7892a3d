// Service for the limits that all keys of an entity share. Administrators read and set them. The callers of this
// service check permissions.
import type { KeyLimits, LimitStore } from "../../../base/domain/keys/limits.ts";
import { requireValidEntity } from "../key-secret.ts";
import { requireValidLimits } from "./check-limits.ts";

export interface EntityLimits {
  /**
   * Returns the limits that are set for the entity. If a limit is null, the server's setting applies. @throws
   * ServiceError `invalid` for an invalid entity
   */
  find(entity: string): Promise<KeyLimits>;
  /**
   * Changes the given limits of an entity, which need not have keys. Requests that arrive later use the new limits.
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

// Limits that all keys of an entity share; administrators read and set them. Callers check permissions.
import type { KeyLimits, LimitStore } from "../../../base/domain/keys/limits.ts";
import { requireValidEntity } from "../key-secret.ts";
import { requireValidLimits } from "./check-limits.ts";

export interface EntityLimits {
  /**
   * Returns the entity's own limits; a null limit means that the server's setting applies. @throws ServiceError
   * `invalid` at `entity`
   */
  find(entity: string): Promise<KeyLimits>;
  /**
   * Changes the given limits, with effect on subsequent requests. Also works for an entity without keys.
   *
   * @throws ServiceError `invalid` at `entity`, and at the limits
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

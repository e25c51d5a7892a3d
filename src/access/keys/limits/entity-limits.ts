// The limits that all keys of an entity have together, as administrators read and set them. Who may do so is known to whoever
// calls.
import type { KeyLimits, LimitStore } from "../../../base/domain/keys/limits.ts";
import { refuseStrangeEntity } from "../key-secret.ts";
import { refuseStrangeLimits } from "./check-limits.ts";

export interface EntityLimits {
  /** Its own; null for what the server's settings say. @throws ServiceError `invalid` at `entity` */
  find(entity: string): Promise<KeyLimits>;
  /**
   * Changes what is named, for requests from then on; also of an entity that has no key yet.
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
      refuseStrangeEntity(entity);
      return store.findEntityLimits(entity);
    },
    change: async (entity, limits) => {
      refuseStrangeEntity(entity);
      refuseStrangeLimits(limits);
      return store.changeEntityLimits(entity, limits);
    },
  };
}

// Resolves the query field `entity`, which selects the entity that a request is about.
import { reachOf, refuseOtherOwner, type Caller } from "../../../../base/domain/access.ts";
import { quoted } from "../../../../base/domain/service-error.ts";

/**
 * Returns the requested entity, by default the caller's own; null for all entities, which only administrators may
 * request.
 *
 * @throws ServiceError `forbidden`, at `entity`, for another entity
 */
export function resolveEntity(caller: Caller, asked: string | undefined): string | null {
  const entity = asked ?? reachOf(caller)?.entity ?? null;
  if (entity === null) return null;
  refuseOtherOwner(caller, { entity, project: null }, `The entity ${quoted(entity)}`, "entity");
  return entity;
}

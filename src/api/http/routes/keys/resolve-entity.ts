// Resolves the field `entity` of a query.
import { reachOf, refuseOtherOwner, type Caller } from "../../../../base/domain/access.ts";
import { quoted } from "../../../../base/domain/service-error.ts";

/**
 * Returns the requested entity; null for all entities, which only administrators may request.
 *
 * @throws ServiceError `forbidden`, at `entity`, for another entity
 */
export function resolveEntity(caller: Caller, asked: string | undefined): string | null {
  const entity = asked ?? reachOf(caller)?.entity ?? null;
  if (entity === null) return null;
  refuseOtherOwner(caller, { entity, project: null }, `The entity ${quoted(entity)}`, "entity");
  return entity;
}

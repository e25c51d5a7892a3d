// Whose things a query with an `entity` asks for.
import { reachOf, refuseOtherOwner, type Caller } from "../../../../base/domain/access.ts";
import { quoted } from "../../../../base/domain/service-error.ts";
import { locate } from "../../../wire/places.ts";

/** Null for everybody's, which an administrator asks for. @throws ServiceError `forbidden` for another entity's */
export function askedEntity(caller: Caller, asked: string | undefined): string | null {
  const entity = asked ?? reachOf(caller)?.entity ?? null;
  if (entity === null) return null;
  try {
    refuseOtherOwner(caller, { entity, project: null }, `The entity ${quoted(entity)}`, "entity");
  } catch (error) {
    throw locate(error, { entity: ["query", "entity"] });
  }
  return entity;
}

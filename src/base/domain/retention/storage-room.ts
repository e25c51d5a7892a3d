// Contract for checking an entity's storage quota.
import { sizeText } from "../text/size-text.ts";
import { quoted, ServiceError } from "../service-error.ts";

/** Checks an entity's quota before data is stored for it. */
export interface StorageRoom {
  /** @throws ServiceError `full` if the entity has reached its quota */
  require(entity: string): Promise<void>;
}

export function fullError(entity: string, usedBytes: number, bytesMax: number): ServiceError {
  const message = `The entity ${quoted(entity)} has ${sizeText(usedBytes)} stored, and may have ${sizeText(bytesMax)}. Delete what is not needed (GET /v1/preview/retention says what there is), or have whoever runs the server raise retention.entityBytes.`;
  return new ServiceError({ code: "full", message });
}

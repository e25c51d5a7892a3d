// How much may be stored of an entity in all.
import { sizeText } from "../text/size-text.ts";
import { quoted, ServiceError } from "../service-error.ts";

/** Asked before something is stored for an entity. */
export interface StorageRoom {
  /** @throws ServiceError `full` where the entity has as much as it may have */
  require(entity: string): Promise<void>;
}

export function fullError(entity: string, usedBytes: number, bytesMax: number): ServiceError {
  const message = `The entity ${quoted(entity)} has ${sizeText(usedBytes)} stored, and may have ${sizeText(bytesMax)}. Delete what is not needed (GET /v1/preview/retention says what there is), or have whoever runs the server raise retention.entityBytes.`;
  return new ServiceError({ code: "full", message });
}

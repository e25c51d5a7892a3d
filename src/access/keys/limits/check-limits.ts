// Validates the limits that an administrator sets for a key or an entity.
import { limitFields, limitNames, type KeyLimits } from "../../../base/domain/keys/limits.ts";
import { ServiceError } from "../../../base/domain/service-error.ts";

/** @throws ServiceError `invalid`, with the invalid limit as location */
export function requireValidLimits(limits: Partial<KeyLimits>): void {
  for (const limit of limitNames) {
    const value = limits[limit] ?? null;
    const { maximum } = limitFields[limit];
    if (value === null) continue;
    if (Number.isInteger(value) && value >= 1 && value <= maximum) continue;
    const message = `\`${limit}\` is ${value}; it must be a whole number from 1 to ${maximum}. Remove it for no limit, or revoke the key to refuse all requests.`;
    const faults = [{ location: [limit], message, type: "value_error" }];
    throw new ServiceError({ code: "invalid", message, faults });
  }
}

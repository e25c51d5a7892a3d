// Whether numbers may be limits.
import { limitMaxima, type KeyLimits } from "../../../base/domain/keys/limits.ts";
import { ServiceError } from "../../../base/domain/service-error.ts";

/** @throws ServiceError `invalid` at the limit */
export function refuseStrangeLimits(limits: Partial<KeyLimits>): void {
  for (const limit of Object.keys(limitMaxima) as (keyof KeyLimits)[]) {
    const value = limits[limit] ?? null;
    if (value === null) continue;
    if (Number.isInteger(value) && value >= 1 && value <= limitMaxima[limit]) continue;
    const message = `\`${limit}\` is ${value}; it must be a whole number from 1 to ${limitMaxima[limit]}. For no limit take it away; to let nothing through, revoke the key.`;
    const faults = [{ location: [limit], message, type: "value_error" }];
    throw new ServiceError({ code: "invalid", message, faults });
  }
}

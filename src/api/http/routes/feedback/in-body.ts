// Where a client sent what the feedback service speaks of.
import { ServiceError } from "../../../../base/domain/service-error.ts";

/** Throws a service's error with its faults, which name fields, within the body that they came in. */
export function inBody(error: unknown): never {
  if (!(error instanceof ServiceError) || error.faults.length === 0) throw error;
  const faults = error.faults.map((fault) => ({ ...fault, location: ["body", ...fault.location] }));
  throw new ServiceError({ code: error.code, message: error.message, faults, cause: error });
}

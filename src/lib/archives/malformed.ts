// Creates the error for an archive that cannot be read.
import { ServiceError } from "../../base/domain/service-error.ts";

/** @param reason clause for the message that says why the archive cannot be read */
export function malformed(reason: string, cause?: unknown): ServiceError {
  const message = `The archive cannot be read (${reason}); send a whole tar file, gzipped or not.`;
  return new ServiceError({ code: "invalid", message, cause });
}

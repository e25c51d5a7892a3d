// Recognizes errors of the operating system, SQLite and PostgreSQL that report a full disk. Pure: it only looks at
// errors.
import { ServiceError } from "../service-error.ts";

const codes = ["ENOSPC", "EDQUOT", "SQLITE_FULL", "53100"];

/** Returns an error for callers if this error, or a cause of it, reports a full disk; otherwise null. */
export function fullDiskError(error: unknown): ServiceError | null {
  for (let cause = error; cause instanceof Error; cause = cause.cause) {
    if (!("code" in cause) || !codes.includes(String(cause.code))) continue;
    return new ServiceError({
      code: "unavailable",
      message: "The disk of the server's data is full: nothing more can be stored until there is room on it.",
      obstacle: "full-disk",
      cause: error,
    });
  }
  return null;
}

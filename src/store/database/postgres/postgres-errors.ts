// Classifies errors of PostgreSQL and of connections to it. The codes are from
// https://www.postgresql.org/docs/current/errcodes-appendix.html, or from the operating system. Pure functions.
import { fullDiskError } from "../../../base/domain/transient-errors/full-disk.ts";
import { ServiceError } from "../../../base/domain/service-error.ts";

/**
 * Delay in seconds after which errors ask clients to retry. A restarted database is usually available within seconds.
 */
const retryAfterSeconds = 5;

/** Error codes for a connection that was lost or could not be made. */
const unreachableCodes: ReadonlySet<string> = new Set([
  "57P01", // shut down, or session terminated
  "57P02", // crashed
  "57P03", // starting
  "57P05", // idle session timeout
  "25P03", // idle transaction timeout
  "53300", // too many connections
  "25006", // became a standby, which is read-only
  "ECONNREFUSED",
  "ECONNRESET",
  "ECONNABORTED",
  "EPIPE",
  "ETIMEDOUT",
  "EHOSTUNREACH",
  "EHOSTDOWN",
  "ENETUNREACH",
  "ENOTFOUND",
  "EAI_AGAIN",
  "ENOENT", // no such socket
]);

/** Matches error messages of `pg` that mean the same as `unreachableCodes`, but come without a code. */
const unreachableMessages =
  /^(Connection terminated|Client (has encountered|was closed)|Query read timeout|timeout expired)/;

/** Error codes for a lock timeout, a deadlock, and a serialization failure. */
const busyCodes: ReadonlySet<string> = new Set(["55P03", "40P01", "40001"]);

/** Returns the code of an error; empty if it has none. */
export function codeOf(error: unknown): string {
  return error instanceof Error && "code" in error ? String(error.code) : "";
}

/** True if a connection was lost or could not be made, which may be temporary. */
export function isUnreachable(error: unknown): boolean {
  const code = codeOf(error);
  if (unreachableCodes.has(code) || /^08...$/.test(code)) return true;
  return error instanceof Error && unreachableMessages.test(error.message);
}

/** True if a statement was cancelled because its time ran out. */
export function isOutOfTime(error: unknown): boolean {
  return codeOf(error) === "57014";
}

/** True if a statement failed because it refers to a missing row. */
export function isMissingParent(error: unknown): boolean {
  return codeOf(error) === "23503";
}

/** True if a statement failed because a row with the same unique key exists. */
export function isKeyTaken(error: unknown): boolean {
  return codeOf(error) === "23505";
}

/** Converts an error that a retry may avoid to a ServiceError. Returns any other error unchanged. */
export function serviceErrorOf(error: unknown): unknown {
  if (isUnreachable(error)) return lostError(error);
  if (busyCodes.has(codeOf(error)) || isOutOfTime(error)) return busyError(error);
  return fullDiskError(error) ?? error;
}

/** Returns the error for a database that cannot be reached. */
export function unreachableError(reason: string, cause?: unknown): ServiceError {
  return new ServiceError({
    code: "unavailable",
    message: `The database cannot be reached: ${reason}. Hone keeps reconnecting; nothing that was stored is lost. Try again.`,
    retryAfterSeconds,
    obstacle: "database-away",
    cause,
  });
}

/** Returns the error for a database that this process has closed. */
export function closedError(): ServiceError {
  return new ServiceError({ code: "unavailable", message: "The database was closed." });
}

function lostError(cause: unknown): ServiceError {
  return new ServiceError({
    code: "unavailable",
    message:
      "The connection to the database was lost before it had answered: whether it stored what it was sent is not known. Look, or try again.",
    retryAfterSeconds,
    obstacle: "database-away",
    cause,
  });
}

/** Returns the error for a statement that waited too long for a lock, or ran too long. */
export function busyError(cause: unknown): ServiceError {
  return new ServiceError({
    code: "unavailable",
    message: "The database was too busy to finish in time. Nothing was stored. Try again.",
    retryAfterSeconds,
    obstacle: "busy-database",
    cause,
  });
}

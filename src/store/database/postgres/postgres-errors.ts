// What PostgreSQL, and the way to it, say in their errors. Pure. Codes are those of
// https://www.postgresql.org/docs/current/errcodes-appendix.html and of the operating system.
import { fullDiskError } from "../../../base/domain/transient-errors/full-disk.ts";
import { ServiceError } from "../../../base/domain/service-error.ts";

/** When who was refused should come again: a database that was started anew is there within seconds. */
const retryAfterSeconds = 5;

/** The connection is gone, or none is to be had. */
const awayCodes: ReadonlySet<string> = new Set([
  "57P01", // it is shut down, or somebody ended the session
  "57P02", // it crashed
  "57P03", // it starts
  "57P05", // the session was idle for too long
  "25P03", // so was its transaction
  "53300", // it has as many connections as it may
  "25006", // it became a standby, which cannot be written
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
  "ENOENT", // no socket lies there
]);

/** As `pg` says the same without a code. */
const awayMessages =
  /^(Connection terminated|Client (has encountered|was closed)|Query read timeout|timeout expired)/;

/** What waited for another connection for too long, or each for the other. */
const busyCodes: ReadonlySet<string> = new Set(["55P03", "40P01", "40001"]);

/** The code of an error; an empty text where it has none. */
export function codeOf(error: unknown): string {
  return error instanceof Error && "code" in error ? String(error.code) : "";
}

/** Whether the connection is gone or none could be made, which may be otherwise in a moment. */
export function isAway(error: unknown): boolean {
  const code = codeOf(error);
  if (awayCodes.has(code) || /^08...$/.test(code)) return true;
  return error instanceof Error && awayMessages.test(error.message);
}

/** Whether a statement was ended because its time was over. */
export function isOutOfTime(error: unknown): boolean {
  return codeOf(error) === "57014";
}

/** Whether a statement failed because a row that it refers to is not there. */
export function isMissingParent(error: unknown): boolean {
  return codeOf(error) === "23503";
}

/** Whether a statement failed because a unique key of a row that it inserts is taken. */
export function isKeyTaken(error: unknown): boolean {
  return codeOf(error) === "23505";
}

/** The error for callers; what is nobody's to wait for stays as it is. */
export function serviceErrorOf(error: unknown): unknown {
  if (isAway(error)) return lostError(error);
  if (busyCodes.has(codeOf(error)) || isOutOfTime(error)) return busyError(error);
  return fullDiskError(error) ?? error;
}

/** That nothing could be asked. */
export function awayError(reason: string, cause?: unknown): ServiceError {
  return new ServiceError({
    code: "unavailable",
    message: `The database cannot be reached: ${reason}. It is tried again all the time; nothing that was stored is lost. Try again.`,
    retryAfterSeconds,
    obstacle: "database-away",
    cause,
  });
}

/** That this process has closed it. */
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

/** That others had what a statement waited for, or that it took too long itself. */
export function busyError(cause: unknown): ServiceError {
  return new ServiceError({
    code: "unavailable",
    message: "The database could not do it in time, since it had other work. Nothing was stored. Try again.",
    retryAfterSeconds,
    obstacle: "busy-database",
    cause,
  });
}

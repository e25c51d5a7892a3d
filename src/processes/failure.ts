// Errors that cross from one process to another: the part that a caller may see, and the rest for the log.
import { fullDiskError } from "../domain/obstacles/full-disk.ts";
import { ServiceError } from "../domain/service-error.ts";
import type { Failure } from "./protocol.ts";

/** The error as a message. One that is not meant for callers becomes `internal` with `internalMessage`. */
export function failureOf(error: unknown, internalMessage: string): Failure {
  const detail = error instanceof Error ? describe(error) : String(error);
  const known = error instanceof ServiceError ? error : fullDiskError(error);
  if (known !== null) {
    const { code, message, obstacle, faults } = known;
    return { code, message, detail, obstacle, faults };
  }
  return { code: "internal", message: internalMessage, detail };
}

/** The message as an error again; its cause is the original as the other process saw it, stack included. */
export function errorOf({ code, message, detail, obstacle, faults = [] }: Failure): ServiceError {
  const cause = Object.assign(new Error("An error in another process."), { stack: detail });
  return new ServiceError({ code, message, faults, cause, ...(obstacle === undefined ? {} : { obstacle }) });
}

/** The error with its causes. */
function describe(error: Error): string {
  const { cause } = error;
  const own = error.stack ?? error.message;
  return cause instanceof Error ? `${own}\ncaused by ${describe(cause)}` : own;
}

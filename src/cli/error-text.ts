// How a command says that it failed.
import { HoneError } from "../client/hone-error.ts";
import { fullDiskError } from "../domain/obstacles/full-disk.ts";
import { ServiceError } from "../domain/service-error.ts";

/** Returns one line for an error of operation, and the stack for any other. */
export function errorText(cause: unknown): string {
  const error = fullDiskError(cause) ?? cause;
  if (error instanceof ServiceError || error instanceof HoneError) return `hone: ${error.message}\n`;
  return `hone: ${error instanceof Error ? (error.stack ?? error.message) : String(error)}\n`;
}

// What a task may take of its worker before that is ended, and how it shows.
import { ServiceError } from "../../domain/service-error.ts";
import { TaskTimeout } from "../../processes/worker-thread.ts";

/** How much longer than its limit a template may go on that does not notice it. */
export const graceMs = 100;

/** What a trial may take by the clock, of which it has the processor for a part. */
export const trialWallMs = 300;

/** Whether a task took the time or the memory that its worker had. */
export function hasBrokenWorker(error: unknown): error is ServiceError {
  return error instanceof TaskTimeout || (error instanceof ServiceError && error.code === "too_large");
}

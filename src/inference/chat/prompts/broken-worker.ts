// How long a template may hold a prompt worker before that is ended, and how the error of such a task is recognised.
import { ServiceError } from "../../../base/domain/service-error.ts";
import { TaskTimeout } from "../../../base/processes/worker-thread.ts";

/** How long after its time limit a template is ended that does not check the limit itself. */
export const graceMs = 100;

/** The time limit of a trial by the clock; it has the processor for a part of that. */
export const trialWallMs = 300;

/** Whether a task ran into the time or memory limit of its worker. */
export function hasBrokenWorker(error: unknown): error is ServiceError {
  return error instanceof TaskTimeout || (error instanceof ServiceError && error.code === "too_large");
}

// Time limits after which a prompt worker is terminated, and a test for the resulting error.
import { ServiceError } from "../../../base/domain/service-error.ts";
import { TaskTimeout } from "../../../base/processes/worker-thread.ts";

/** Grace period in which a template that exceeds its time limit can stop before its thread is terminated. */
export const graceMs = 100;

/** Wall-clock limit of a trial; its processor time has a lower limit. */
export const trialWallMs = 300;

/** Returns true if a task exceeded its worker's time or memory limit. */
export function exceededWorkerLimit(error: unknown): error is ServiceError {
  return error instanceof TaskTimeout || (error instanceof ServiceError && error.code === "too_large");
}

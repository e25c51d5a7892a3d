// Time limits after which a worker that writes a prompt is terminated, and a test for the resulting errors.
import { ServiceError } from "../../../base/domain/service-error.ts";
import { TaskTimeout } from "../../../base/processes/worker-thread.ts";

/**
 * Time in milliseconds within which a template must stop by itself after it has exceeded its time limit. After that,
 * its thread is terminated.
 */
export const graceMs = 100;

/** Wall-clock limit of a trial in milliseconds. The limit for its processor time is lower. */
export const trialWallMs = 300;

/**
 * Wall-clock limit of a template in a request, divided by its limit of processor time. Its process has a low priority,
 * so on a busy machine it may wait longer than it computes.
 */
export const wallTimeFactor = 5;

/** Returns true if a task exceeded its worker's time or memory limit. */
export function exceededWorkerLimit(error: unknown): error is ServiceError {
  return error instanceof TaskTimeout || (error instanceof ServiceError && error.code === "too_large");
}

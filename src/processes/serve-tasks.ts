// The worker's side of a pool: answers each task with its result or with what it threw.
import { parentPort } from "node:worker_threads";
import { present } from "../domain/assert.ts";
import { ServiceError, type ErrorCode, type Fault } from "../domain/service-error.ts";

/** A result, and what of it is handed over rather than copied. */
export interface TaskResult {
  readonly result: unknown;
  readonly transfer: readonly ArrayBuffer[];
}

export type TaskOutcome =
  | { readonly isDone: true; readonly result: unknown }
  | {
      readonly isDone: false;
      readonly error: Error;
      /** What a ServiceError says: classes do not pass between threads. */
      readonly refusal: {
        readonly code: ErrorCode;
        readonly message: string;
        readonly faults: readonly Fault[];
      } | null;
    };

/** Answers every task of the thread that started this one; tasks come one at a time. */
export function serveTasks(handle: (task: unknown) => TaskResult): void {
  const port = present(parentPort, "the port of a worker's parent");
  port.on("message", (task: unknown) => {
    const { outcome, transfer } = outcomeOf(handle, task);
    port.postMessage(outcome, [...transfer]);
  });
}

function outcomeOf(
  handle: (task: unknown) => TaskResult,
  task: unknown,
): { readonly outcome: TaskOutcome; readonly transfer: readonly ArrayBuffer[] } {
  try {
    const { result, transfer } = handle(task);
    return { outcome: { isDone: true, result }, transfer };
  } catch (thrown) {
    const error = thrown instanceof Error ? thrown : new Error(String(thrown));
    const refusal =
      error instanceof ServiceError
        ? { code: error.code, message: error.message, faults: error.faults }
        : null;
    return { outcome: { isDone: false, error, refusal }, transfer: [] };
  }
}

// The worker's side of a pool: says when it can work, and answers each task with its result or with what it threw.
import { parentPort, workerData } from "node:worker_threads";
import { carried, type CarriedError } from "./carried-error.ts";

/** A result, and what of it is handed over rather than copied. */
export interface TaskResult {
  readonly result: unknown;
  readonly transfer: readonly ArrayBuffer[];
}

/** What a worker posts. */
export type WorkerMessage =
  /** First of all. */
  | { readonly kind: "ready" }
  /** The task goes on with its next stage, which has a time of its own. */
  | { readonly kind: "stage" }
  | TaskOutcome;

export type TaskOutcome =
  | { readonly kind: "done"; readonly result: unknown }
  | { readonly kind: "failed"; readonly error: CarriedError };

/** What the pool's workers were given. */
export function taskData(): unknown {
  return parentPort === null ? JSON.parse(process.argv[2] ?? "null") : workerData;
}

/** Answers every task of the pool that started this thread or process; tasks come one at a time. */
export function serveTasks(
  handle: (task: unknown, beginNextStage: () => void) => TaskResult | Promise<TaskResult>,
): void {
  const post = (message: WorkerMessage, transfer: readonly ArrayBuffer[] = []): void => {
    if (parentPort === null) process.send?.(message);
    else parentPort.postMessage(message, [...transfer]);
  };
  const beginNextStage = (): void => post({ kind: "stage" });
  const answer = async (task: unknown): Promise<void> => {
    try {
      const { result, transfer } = await handle(task, beginNextStage);
      post({ kind: "done", result }, transfer);
    } catch (thrown) {
      post({ kind: "failed", error: carried(thrown) });
    }
  };
  (parentPort ?? process).on("message", (task: unknown) => void answer(task));
  post({ kind: "ready" });
}

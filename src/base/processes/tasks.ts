// Messages between a pool and its workers. The module that uses the pool defines the tasks, with their inputs and
// results.
import type { SerializedError } from "./serialized-error.ts";

/** Types of the tasks that workers of one kind perform, by name. Inputs and results must survive structured cloning. */
export type TaskTypes<Tasks> = {
  readonly [Kind in keyof Tasks]: { readonly task: unknown; readonly result: unknown };
};

/**
 * Functions that perform the tasks, by name. A module exports `openTasks`, which creates them in each worker from the
 * pool's data. Buffers in results are transferred.
 */
export type TaskHandlers<Tasks extends TaskTypes<Tasks>> = {
  /** @param beginNextStage begins the next stage of the task, which has a time limit of its own */
  readonly [Kind in keyof Tasks]: (
    task: Tasks[Kind]["task"],
    beginNextStage: () => void,
  ) => Tasks[Kind]["result"] | Promise<Tasks[Kind]["result"]>;
};

/** Data that a worker receives when it starts. */
export interface WorkerStart {
  /** URL of the module that exports `openTasks`. */
  readonly module: string;
  readonly data: unknown;
}

export interface TaskMessage {
  readonly kind: string;
  readonly task: unknown;
}

/** Messages from a worker to its pool. */
export type WorkerMessage =
  /** `ready` is a worker's first message. `stage` begins the next stage of its task. */
  { readonly kind: "ready" } | { readonly kind: "stage" } | TaskOutcome;

export type TaskOutcome =
  | { readonly kind: "done"; readonly result: unknown }
  | { readonly kind: "failed"; readonly error: SerializedError };

/** Returns the buffers of all typed arrays in a value, at any depth. Each buffer occurs once. */
export function buffersOf(value: unknown): readonly ArrayBuffer[] {
  const found = new Set<ArrayBuffer>();
  collect(value, found);
  return [...found];
}

function collect(value: unknown, found: Set<ArrayBuffer>): void {
  if (typeof value !== "object" || value === null) return;
  if (ArrayBuffer.isView(value)) {
    if (value.buffer instanceof ArrayBuffer) found.add(value.buffer);
    // A list that begins with a number or a text is skipped, because such lists may be long and contain no buffers.
  } else if (!Array.isArray(value) || typeof value[0] === "object")
    for (const member of Object.values(value)) collect(member, found);
}

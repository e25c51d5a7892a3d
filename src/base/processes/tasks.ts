// Messages between a pool and its workers. The module that uses the pool defines the tasks, with their inputs and
// results.
import type { SerializedError } from "./serialized-error.ts";

/** The tasks of one kind of worker, by name. Inputs and results must survive structured cloning. */
export type TaskTypes<Tasks> = {
  readonly [Kind in keyof Tasks]: { readonly task: unknown; readonly result: unknown };
};

/**
 * Implementation of the tasks. A module exports `openTasks`, which creates it in each worker from the pool's data.
 * Buffers in results are transferred.
 */
export type TaskHandlers<Tasks extends TaskTypes<Tasks>> = {
  /** @param beginNextStage begins the task's next stage, which has a separate time limit */
  readonly [Kind in keyof Tasks]: (
    task: Tasks[Kind]["task"],
    beginNextStage: () => void,
  ) => Tasks[Kind]["result"] | Promise<Tasks[Kind]["result"]>;
};

/** Start data of a worker. */
export interface WorkerStart {
  /** URL of the module with `openTasks`. */
  readonly module: string;
  readonly data: unknown;
}

export interface TaskMessage {
  readonly kind: string;
  readonly task: unknown;
}

/** Messages from a worker. */
export type WorkerMessage =
  /** A worker's first message is `ready`. */
  { readonly kind: "ready" } | { readonly kind: "stage" } | TaskOutcome;

export type TaskOutcome =
  | { readonly kind: "done"; readonly result: unknown }
  | { readonly kind: "failed"; readonly error: SerializedError };

/** Returns the buffers of all bytes in a value, each once, at any depth. */
export function buffersOf(value: unknown): readonly ArrayBuffer[] {
  const found = new Set<ArrayBuffer>();
  collect(value, found);
  return [...found];
}

function collect(value: unknown, found: Set<ArrayBuffer>): void {
  if (typeof value !== "object" || value === null) return;
  if (ArrayBuffer.isView(value)) {
    if (value.buffer instanceof ArrayBuffer) found.add(value.buffer);
    // A list whose first element is a number or a text is skipped: such lists may be long, and contain no buffers.
  } else if (!Array.isArray(value) || typeof value[0] === "object")
    for (const member of Object.values(value)) collect(member, found);
}

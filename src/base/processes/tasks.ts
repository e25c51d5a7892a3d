// What a pool and its workers say to each other. What the tasks are, and what each takes and gives, is the using folder's.
import type { CarriedError } from "./carried-error.ts";

/** The tasks of one kind of worker, by name. All that they take and give must survive structured cloning. */
export type TaskTypes<Tasks> = {
  readonly [Kind in keyof Tasks]: { readonly task: unknown; readonly result: unknown };
};

/**
 * What does the tasks: a module exports `openTasks`, which makes it in each worker, of the pool's data. Buffers in what it
 * gives are handed over.
 */
export type TaskHandlers<Tasks extends TaskTypes<Tasks>> = {
  /** @param beginNextStage the task goes on with its next stage, which has a time of its own */
  readonly [Kind in keyof Tasks]: (
    task: Tasks[Kind]["task"],
    beginNextStage: () => void,
  ) => Tasks[Kind]["result"] | Promise<Tasks[Kind]["result"]>;
};

/** What a worker is started with. */
export interface WorkerStart {
  /** Where `openTasks` is. */
  readonly module: string;
  readonly data: unknown;
}

export interface TaskMessage {
  readonly kind: string;
  readonly task: unknown;
}

/** What a worker posts. */
export type WorkerMessage =
  /** First of all. */
  { readonly kind: "ready" } | { readonly kind: "stage" } | TaskOutcome;

export type TaskOutcome =
  | { readonly kind: "done"; readonly result: unknown }
  | { readonly kind: "failed"; readonly error: CarriedError };

/** The buffers of all bytes in a value, each once, whatever lies in them. */
export function buffersOf(value: unknown): readonly ArrayBuffer[] {
  const found = new Set<ArrayBuffer>();
  collect(value, found);
  return [...found];
}

function collect(value: unknown, found: Set<ArrayBuffer>): void {
  if (typeof value !== "object" || value === null) return;
  if (ArrayBuffer.isView(value)) {
    if (value.buffer instanceof ArrayBuffer) found.add(value.buffer);
    // A list of numbers or texts, of which there may be many, holds none.
  } else if (!Array.isArray(value) || typeof value[0] === "object")
    for (const member of Object.values(value)) collect(member, found);
}

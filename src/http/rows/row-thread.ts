// The worker that makes rows of stored trajectories.
import { serveTasks } from "../../processes/serve-tasks.ts";
import { buffersOf } from "./handed-over.ts";
import { rowTasks, type RowTaskKind } from "../../wire/trajectories/row-tasks.ts";

serveTasks((message) => {
  // Only a row reader starts this worker, with a task of the kind.
  const { kind, task } = message as { readonly kind: RowTaskKind; readonly task: never };
  const result = rowTasks[kind](task);
  return { result, transfer: buffersOf(result) };
});

// The worker that reads and merges the files of versions.
import { serveTasks } from "../processes/serve-tasks.ts";
import { checkpointTasks, type CheckpointTaskKind } from "./checkpoint-tasks.ts";

serveTasks(async (message) => {
  // Only checkpoint files start this worker, with a task of the kind.
  const { kind, task } = message as { readonly kind: CheckpointTaskKind; readonly task: never };
  const result: unknown = await checkpointTasks[kind](task);
  const isBytes = result instanceof Uint8Array && result.buffer instanceof ArrayBuffer;
  return { result, transfer: isBytes ? [result.buffer] : [] };
});

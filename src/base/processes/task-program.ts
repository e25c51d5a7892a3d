// Program of every worker of a pool: calls its module's `openTasks`, reports when it is ready, and answers each task,
// one at a time, with its result or error.
import { parentPort, workerData } from "node:worker_threads";
import { serializeError } from "./serialized-error.ts";
import { buffersOf, type TaskMessage, type WorkerMessage, type WorkerStart } from "./tasks.ts";

/** Function for one kind of task, called by the kind's name; the pool's own types describe inputs and results. */
type Handler = (task: unknown, beginNextStage: () => void) => unknown;
interface TaskModule {
  readonly openTasks: (data: unknown) => Promise<Readonly<Record<string, Handler>>>;
}

// The cast is safe: `startWorker` passes this value.
const start = (parentPort === null ? JSON.parse(process.argv[2] ?? "") : workerData) as WorkerStart;
// The cast is safe: a pool names a module that exports `openTasks`.
const { openTasks } = (await import(start.module)) as TaskModule;
const handlers = await openTasks(start.data);
(parentPort ?? process).on("message", (message: TaskMessage) => void answer(message));
post({ kind: "ready" });

async function answer({ kind, task }: TaskMessage): Promise<void> {
  try {
    const result = await handlers[kind](task, () => post({ kind: "stage" }));
    post({ kind: "done", result });
  } catch (thrown) {
    post({ kind: "failed", error: serializeError(thrown) });
  }
}

function post(message: WorkerMessage): void {
  if (parentPort === null) process.send?.(message);
  else parentPort.postMessage(message, [...buffersOf(message)]);
}

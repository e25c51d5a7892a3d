// Program that each worker of a pool runs. It calls `openTasks` of the pool's module, reports when it is ready, and
// answers each task, one after the other, with its result or error.
import { parentPort, workerData } from "node:worker_threads";
import { serializeError } from "./serialized-error.ts";
import { buffersOf, type TaskMessage, type WorkerMessage, type WorkerStart } from "./tasks.ts";

/** Function that performs tasks of one kind. The types of the pool describe its input and result. */
type Handler = (task: unknown, beginNextStage: () => void) => unknown;
interface TaskModule {
  readonly openTasks: (data: unknown) => Promise<Readonly<Record<string, Handler>>>;
}

// Safe cast: `startWorker` passes this value.
const start = (parentPort === null ? JSON.parse(process.argv[2] ?? "") : workerData) as WorkerStart;
void openWorker();

/** Opens the pool's module, then answers tasks. An error ends the worker, since nothing handles the rejection. */
async function openWorker(): Promise<void> {
  // Safe cast: a pool names a module that exports `openTasks`.
  const { openTasks } = (await import(start.module)) as TaskModule;
  const handlers = await openTasks(start.data);
  (parentPort ?? process).on("message", (message: TaskMessage) => void answer(handlers, message));
  post({ kind: "ready" });
}

async function answer(
  handlers: Readonly<Record<string, Handler>>,
  { kind, task }: TaskMessage,
): Promise<void> {
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

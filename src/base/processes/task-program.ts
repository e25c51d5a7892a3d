// What every worker of a pool runs: opens the tasks of the module it is given, says when it can work, and answers each task,
// of which there is one at a time, with its result or with what it threw.
import { parentPort, workerData } from "node:worker_threads";
import { carried } from "./carried-error.ts";
import { buffersOf, type TaskMessage, type WorkerMessage, type WorkerStart } from "./tasks.ts";

/** What a pool calls by its name; the pool's own types say what each takes. */
type Handler = (task: unknown, beginNextStage: () => void) => unknown;
interface TaskModule {
  readonly openTasks: (data: unknown) => Promise<Readonly<Record<string, Handler>>>;
}

// What `startWorker` gives.
const start = (parentPort === null ? JSON.parse(process.argv[2] ?? "") : workerData) as WorkerStart;
// A pool names a module of tasks.
const { openTasks } = (await import(start.module)) as TaskModule;
const handlers = await openTasks(start.data);
(parentPort ?? process).on("message", (message: TaskMessage) => void answer(message));
post({ kind: "ready" });

async function answer({ kind, task }: TaskMessage): Promise<void> {
  try {
    const result = await handlers[kind](task, () => post({ kind: "stage" }));
    post({ kind: "done", result });
  } catch (thrown) {
    post({ kind: "failed", error: carried(thrown) });
  }
}

function post(message: WorkerMessage): void {
  if (parentPort === null) process.send?.(message);
  else parentPort.postMessage(message, [...buffersOf(message)]);
}

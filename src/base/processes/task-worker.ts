// A worker that serves tasks: a thread, or a separate process for tasks whose memory limit or termination cannot be
// enforced in a thread. Callers decide its tasks and its end.
import { fork, type ChildProcess } from "node:child_process";
import { EventEmitter } from "node:events";
import { fileURLToPath } from "node:url";
import { Worker, type Transferable } from "node:worker_threads";
import type { TaskMessage, WorkerMessage, WorkerStart } from "./tasks.ts";

export interface WorkerOptions {
  /** The built module that exports `openTasks`. */
  readonly module: URL;
  /** Argument of `openTasks`; for processes it must be JSON. */
  readonly data?: unknown;
  /** True for processes, which start more slowly than threads and share no memory with this one. */
  readonly isProcess?: boolean;
  /** Time limit of each stage of a task, in order; the first begins when a worker takes the task. */
  readonly stageMs: readonly number[];
  /** Memory limit of a worker's objects; buffers are not counted. */
  readonly memoryMebibytes: number;
  /** True to end a worker when no task waits for it, which frees its memory. */
  readonly endsWhenIdle?: boolean;
}

/** A thread or a process. */
export interface TaskWorker {
  postMessage(task: TaskMessage, transfer: Transferable[]): void;
  ref(): void;
  unref(): void;
  /** Ends the worker; resolves when it is gone. */
  terminate(): Promise<unknown>;
  on(event: "message", listener: (message: WorkerMessage) => void): unknown;
  on(event: "error", listener: (error: Error & { readonly code?: string }) => void): unknown;
  on(event: "exit", listener: (how: unknown) => void): unknown;
}

const program = new URL("./task-program.js", import.meta.url);

export function startWorker(options: WorkerOptions): TaskWorker {
  return options.isProcess === true ? new WorkerProcess(options) : startThread(options);
}

function startThread({ module, data, memoryMebibytes }: WorkerOptions): Worker {
  return new Worker(program, {
    // Workers must not inherit flags of this process, such as a program on its command line.
    execArgv: [],
    workerData: { module: module.href, data } satisfies WorkerStart,
    resourceLimits: { maxOldGenerationSizeMb: memoryMebibytes },
  });
}

class WorkerProcess extends EventEmitter implements TaskWorker {
  readonly #process: ChildProcess;
  readonly #gone: Promise<void>;

  constructor({ module, data, memoryMebibytes }: WorkerOptions) {
    super();
    const start: WorkerStart = { module: module.href, data };
    this.#process = fork(fileURLToPath(program), [JSON.stringify(start)], {
      serialization: "advanced",
      execArgv: [`--max-old-space-size=${memoryMebibytes}`],
      // The task's refusal already says that it ran out of memory.
      stdio: ["ignore", "ignore", "ignore", "ipc"],
    });
    this.#process.on("message", (message) => this.emit("message", message));
    this.#gone = new Promise((resolve) => {
      this.#process.on("error", (error) => {
        // A process that could not be started does not emit an end.
        if (this.#process.pid === undefined) resolve();
        this.emit("error", error);
      });
      this.#process.once("close", (code, signal) => {
        resolve();
        // V8 aborts a process that runs out of memory, and the system may kill one.
        if (signal === "SIGABRT" || signal === "SIGKILL") this.emit("error", outOfMemory());
        else this.emit("exit", code ?? signal);
      });
    });
  }

  postMessage(task: TaskMessage): void {
    // A failure means that the process has just died; its end is reported separately.
    if (this.#process.connected) this.#process.send(task, () => undefined);
  }

  ref(): void {
    this.#process.ref();
    this.#process.channel?.ref();
  }

  unref(): void {
    this.#process.unref();
    this.#process.channel?.unref();
  }

  async terminate(): Promise<void> {
    this.ref();
    this.#process.kill("SIGKILL");
    await this.#gone;
  }
}

function outOfMemory(): Error {
  return Object.assign(new Error("A worker process ran out of memory."), {
    code: "ERR_WORKER_OUT_OF_MEMORY",
  });
}

// A worker that performs tasks: a thread, or a separate process if a thread cannot enforce the tasks' memory limit or
// termination. Callers decide its tasks and its end.
import { fork, type ChildProcess } from "node:child_process";
import { EventEmitter } from "node:events";
import { fileURLToPath } from "node:url";
import { Worker, type Transferable } from "node:worker_threads";
import type { TaskMessage, WorkerMessage, WorkerStart } from "./tasks.ts";

export interface WorkerOptions {
  /** Built module that exports `openTasks`. */
  readonly module: URL;
  /** Argument of `openTasks`. For processes, it must be JSON. */
  readonly data?: unknown;
  /**
   * True if the worker is a process. Processes start more slowly than threads, and share no memory with this process.
   */
  readonly isProcess?: boolean;
  /**
   * Time limit in milliseconds of each stage of a task, in order. The first stage begins when a worker takes the task.
   */
  readonly stageMs: readonly number[];
  /** Memory limit of a worker's objects in mebibytes. Buffers do not count. */
  readonly memoryMebibytes: number;
  /** True to end a worker as soon as no task waits for it, which frees its memory. */
  readonly endsWhenIdle?: boolean;
}

/** A thread or a process that performs tasks. */
export interface TaskWorker {
  postMessage(task: TaskMessage, transfer: Transferable[]): void;
  ref(): void;
  unref(): void;
  /** Ends the worker. Resolves when it is gone. */
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
      // Output is ignored, because the error of the task already says that the worker ran out of memory.
      stdio: ["ignore", "ignore", "ignore", "ipc"],
    });
    this.#process.on("message", (message) => this.emit("message", message));
    this.#gone = new Promise((resolve) => {
      this.#process.on("error", (error) => {
        // A process that could not be started emits no `close`, so this event is its end.
        if (this.#process.pid === undefined) resolve();
        this.emit("error", error);
      });
      this.#process.once("close", (code, signal) => {
        resolve();
        // V8 aborts a process that runs out of memory, and the operating system may kill one.
        if (signal === "SIGABRT" || signal === "SIGKILL") this.emit("error", outOfMemory());
        else this.emit("exit", code ?? signal);
      });
    });
  }

  postMessage(task: TaskMessage): void {
    // If sending fails, the process has just died. Its end is reported separately.
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

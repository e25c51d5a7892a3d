// A worker that serves tasks: a thread of this process, or a process of its own for tasks whose memory, or end, a thread
// could not be held to. What its tasks are, and when it is ended, is decided elsewhere.
import { fork, type ChildProcess } from "node:child_process";
import { EventEmitter } from "node:events";
import { fileURLToPath } from "node:url";
import { Worker, type Transferable } from "node:worker_threads";
import type { TaskMessage, WorkerMessage, WorkerStart } from "./tasks.ts";

export interface WorkerOptions {
  /** A module that exports `openTasks`, as it is built. */
  readonly module: URL;
  /** What `openTasks` is given; for processes, as JSON. */
  readonly data?: unknown;
  /** Whether workers are processes, which cost more to start than threads, and share no memory with this one. */
  readonly isProcess?: boolean;
  /** How long each stage of a task may take, in order, from when a worker takes it. */
  readonly stageMs: readonly number[];
  /** Of a worker's objects; buffers are not counted. */
  readonly memoryMebibytes: number;
  /** Whether a worker ends when no task waits for it, so that the memory of its last one is free again. */
  readonly endsWhenIdle?: boolean;
}

/** A thread or a process. */
export interface TaskWorker {
  postMessage(task: TaskMessage, transfer: Transferable[]): void;
  ref(): void;
  unref(): void;
  /** Resolves when it is gone. */
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
    // What this process was started with, such as a program on its command line, is not for its workers.
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
      // What it writes as it dies of its memory is said in the task's refusal.
      stdio: ["ignore", "ignore", "ignore", "ipc"],
    });
    this.#process.on("message", (message) => this.emit("message", message));
    this.#gone = new Promise((resolve) => {
      this.#process.on("error", (error) => {
        // One that could not be started does not end.
        if (this.#process.pid === undefined) resolve();
        this.emit("error", error);
      });
      this.#process.once("close", (code, signal) => {
        resolve();
        // V8 aborts a process that has no memory left, and the system kills one where there is none.
        if (signal === "SIGABRT" || signal === "SIGKILL") this.emit("error", outOfMemory());
        else this.emit("exit", code ?? signal);
      });
    });
  }

  postMessage(task: TaskMessage): void {
    // A failure means that the process has just died; its end says the rest.
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
  return Object.assign(new Error("A worker process had no memory left."), {
    code: "ERR_WORKER_OUT_OF_MEMORY",
  });
}

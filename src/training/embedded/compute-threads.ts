// Runs of programs, one with all compute threads or several side by side. Threads that share a program wait for the slowest
// of them at each of its operations, and for whatever else the system runs in its place; side by side they do not.
import { GraphBuilder } from "../../graph/builder.ts";
import { WorkerPool } from "../../processes/worker-pool.ts";
import { createSession } from "../../runtime/session.ts";
import { type ProgramOutputs, type ProgramRun, Programs, type ProgramsOptions } from "./programs.ts";

/** How many runs go side by side at most: each has a part of what is computed at once, and programs of its own. */
const SIDE_BY_SIDE_MAX = 4;

/** A run ends when it is computed; whoever waits for training has a deadline. The longest that a timer takes. */
const runMs = 2 ** 31 - 1;

const threadMebibytes = 4096;

export class ComputeThreads {
  /** How many runs are as many threads' work when they go side by side. */
  readonly sideBySide: number;
  readonly #options: ProgramsOptions;
  readonly #together: Programs;
  #apart: Promise<WorkerPool> | null = null;

  /** @param options.threads how many compute, in all */
  constructor(options: ProgramsOptions) {
    this.sideBySide = Math.min(options.threads, SIDE_BY_SIDE_MAX);
    this.#options = options;
    this.#together = new Programs(options);
  }

  /**
   * One run with all threads, which blocks this one, or `sideBySide` of them at the same time.
   *
   * @throws what `Programs.run` throws
   */
  async run(runs: readonly ProgramRun[]): Promise<readonly ProgramOutputs[]> {
    const [first] = runs;
    if (runs.length === 1 && first !== undefined) return [await this.#together.run(first)];
    this.#apart ??= this.#start();
    const threads = await this.#apart;
    // All have ended before one is told to have failed: a thread that is ended while it computes takes the process along.
    const outcomes = await Promise.allSettled(runs.map((run) => threads.run(run)));
    return outcomes.map((outcome) => {
      if (outcome.status === "rejected") throw outcome.reason;
      return outcome.value as ProgramOutputs; // What `compute-thread` answers.
    });
  }

  /** Frees every program; nothing may run. */
  async close(): Promise<void> {
    const apart = this.#apart;
    this.#apart = null;
    await Promise.all([this.#together.close(), apart?.then((threads) => threads.close())]);
  }

  async #start(): Promise<WorkerPool> {
    // The first session of a process decides how its thread, and those that it starts, compute with the smallest numbers.
    const builder = new GraphBuilder();
    const nothing = builder.build({ y: builder.negate(builder.input("x", "float32", [1])) });
    await (await createSession(nothing, { weights: new Map(), threads: 1 })).release();
    const threads = Math.floor(this.#options.threads / this.sideBySide);
    return new WorkerPool({
      module: new URL("./compute-thread.js", import.meta.url),
      workerCount: this.sideBySide,
      data: { ...this.#options, threads } satisfies ProgramsOptions,
      stageMs: [runMs],
      memoryMebibytes: threadMebibytes,
    });
  }
}

// Runs training programs, either one with all compute threads or several side by side. Threads that share a program
// wait for the slowest of them at each operation, and for other processes on their cores. Threads that run programs
// side by side do not.
import { float32Bytes, modelParameters } from "../../../inference/architectures/parameters.ts";
import { WorkerPool } from "../../../base/processes/worker-pool.ts";
import { flushDenormals } from "../../../inference/onnx/session.ts";
import type { Division } from "../packing/divide-pack.ts";
import { ProgramGraphs } from "./program-graphs.ts";
import {
  type ProgramOutputs,
  type ProgramRun,
  type ProgramTasks,
  Programs,
  type ProgramsOptions,
} from "./programs.ts";

/** Maximum number of runs side by side. Each run computes a part of the microbatch, with its own copy of the programs. */
const SIDE_BY_SIDE_MAX = 8;

/**
 * Minimum share of the threads that side-by-side runs must use. Some threads stay idle if their number is not a
 * multiple of the runs.
 */
const THREAD_SHARE_MIN = 0.9;

/** Maximum size in bytes of weights that fit into the processor's caches. */
const CACHED_WEIGHT_BYTES = 32e6;

/** The longest possible timer. Runs need no deadline of their own, because the whole training has one. */
const runMs = 2 ** 31 - 1;

const threadMebibytes = 4096;

export class ComputeThreads {
  /**
   * How microbatches are divided: the number of runs side by side, each with an equal share of the threads, and the
   * minimum size of a run.
   */
  readonly division: Division;
  /** Graphs of the programs that run with all threads. */
  readonly graphs: ProgramGraphs;
  readonly #options: ProgramsOptions;
  readonly #together: Programs;
  #apart: WorkerPool<ProgramTasks, ProgramsOptions> | null = null;

  /** @param options.threads total number of compute threads */
  constructor(options: ProgramsOptions) {
    this.division = divisionOf(options);
    this.#options = options;
    this.graphs = new ProgramGraphs(options.config, options.forms);
    this.#together = new Programs(options, this.graphs);
  }

  /**
   * Executes runs. A single run uses all threads and blocks this thread. Several runs, at most as many as `division`
   * allows, are executed at the same time.
   *
   * @throws the errors of `Programs.run`
   */
  async run(runs: readonly ProgramRun[]): Promise<readonly ProgramOutputs[]> {
    if (runs.length === 1) return [await this.#together.run(runs[0])];
    // Denormals are flushed here, so that all threads treat them alike.
    if (this.#apart === null) await flushDenormals();
    const threads = (this.#apart ??= this.#newThreads());
    // Waits for all runs before reporting a failure: ending a thread while it computes crashes the process.
    const outcomes = await Promise.allSettled(runs.map((run) => threads.run("run", run)));
    return outcomes.map((outcome) => {
      if (outcome.status === "rejected") throw outcome.reason;
      return outcome.value;
    });
  }

  /** Frees all programs; nothing may run. */
  async close(): Promise<void> {
    const apart = this.#apart;
    this.#apart = null;
    await Promise.all([this.#together.close(), apart?.close()]);
  }

  #newThreads(): WorkerPool<ProgramTasks, ProgramsOptions> {
    const { count } = this.division;
    const threads = Math.floor(this.#options.threads / count);
    return new WorkerPool({
      module: new URL("./programs.js", import.meta.url),
      workerCount: count,
      data: { ...this.#options, threads },
      stageMs: [runMs],
      memoryMebibytes: threadMebibytes,
    });
  }
}

/**
 * Chooses the number of parts and their minimum size in tokens.
 * - Each part reads all weights. From memory, that takes 8 % of the time of the matrix products for 500 tokens, and 16
 *   % for 250. Larger products lose little time if threads share them.
 * - In 8 bits, products take less time, so threads that share them wait relatively longer. The weights have a quarter
 *   of the bytes.
 */
function divisionOf({ config, forms, threads }: ProgramsOptions): Division {
  const count = sideBySideOf(threads);
  const isRounded = forms !== undefined && forms.size > 0;
  return isRounded || float32Bytes(modelParameters(config)) <= CACHED_WEIGHT_BYTES
    ? { count, tokensMin: 250, excessMax: 1.17 }
    : { count, tokensMin: 500, excessMax: 1.07 };
}

/** Returns the largest number of runs that leaves few threads idle. */
function sideBySideOf(threads: number): number {
  let count = Math.min(threads, SIDE_BY_SIDE_MAX);
  while (count * Math.floor(threads / count) < THREAD_SHARE_MIN * threads) count -= 1;
  return count;
}

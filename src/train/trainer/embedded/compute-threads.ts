// Runs training programs: one with all compute threads, or several side by side. Threads that share a program wait for
// the slowest at each operation, and for other processes that the system runs in its place. Side by side they do not
// wait.
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

/** Maximum number of runs side by side: each computes a part of the microbatch with its own copy of the programs. */
const SIDE_BY_SIDE_MAX = 8;

/** Minimum share of the threads in use when they do not divide evenly. */
const THREAD_SHARE_MIN = 0.9;

/** Largest weights in bytes that stay in the processor's caches. */
const CACHED_WEIGHT_BYTES = 32e6;

/** Runs have no separate deadline, since training has one; this is the longest timer. */
const runMs = 2 ** 31 - 1;

const threadMebibytes = 4096;

export class ComputeThreads {
  /** Number of runs side by side, each with an equal share of the threads, and their minimum size. */
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
   * Executes one run with all threads, blocking this thread, or up to the division's number of runs at the same time.
   *
   * @throws the errors of `Programs.run`
   */
  async run(runs: readonly ProgramRun[]): Promise<readonly ProgramOutputs[]> {
    if (runs.length === 1) return [await this.#together.run(runs[0])];
    // So that all threads treat denormals alike.
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
 * Chooses the number and the minimum size of the parts.
 * - Each part reads all weights. From memory, that takes 8 % of the time of its products with 500 tokens, and twice
 *   that with half as many. Products so large lose little if threads share them.
 * - Products in 8 bits take less time, threads that share them wait relatively longer, and their weights have a
 *   quarter of the bytes.
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

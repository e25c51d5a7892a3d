// Runs training programs: either one program with all compute threads, or several programs in parallel. Threads that
// share one program wait for the slowest of them at each operation. Threads that each run their own program do not.
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

/**
 * Maximum number of programs that run in parallel. Each computes a part of the batch with its own copy of the program.
 */
const SIDE_BY_SIDE_MAX = 8;

/**
 * Minimum share of the threads that parallel runs must use. If the number of threads is not a multiple of the number of
 * runs, the remaining threads stay idle.
 */
const THREAD_SHARE_MIN = 0.9;

/** Maximum size in bytes of a model whose weights are assumed to fit into the processor's caches. */
const CACHED_WEIGHT_BYTES = 32e6;

/**
 * Time limit of one run: the longest that a timer allows. A run needs no limit of its own, because the whole training
 * has one.
 */
const runMs = 2 ** 31 - 1;

const threadMebibytes = 4096;

export interface ComputeOptions extends Omit<ProgramsOptions, "weights"> {
  /** Returns `ProgramsOptions.weights`. Called at most once, before the first run. */
  readonly readWeights: () => ProgramsOptions["weights"];
}

export class ComputeThreads {
  /**
   * Rules for dividing a microbatch into parts that run in parallel: how many parts, and how many tokens a part must
   * have. Each part gets an equal share of the threads.
   */
  readonly division: Division;
  /** Graphs of the programs that run with all threads. */
  readonly graphs: ProgramGraphs;
  readonly #options: ComputeOptions;
  #programsOptions: ProgramsOptions | null = null;
  #together: Programs | null = null;
  #apart: WorkerPool<ProgramTasks, ProgramsOptions> | null = null;

  /** @param options.threads total number of compute threads */
  constructor(options: ComputeOptions) {
    this.division = divisionOf(options);
    this.#options = options;
    this.graphs = new ProgramGraphs(options.config, options.forms);
  }

  /**
   * Executes program runs. A single run uses all compute threads and blocks the calling thread. Several runs execute in
   * parallel; the caller passes at most `division.count` runs.
   *
   * @throws the errors of `Programs.run`
   */
  async run(runs: readonly ProgramRun[]): Promise<readonly ProgramOutputs[]> {
    if (runs.length === 1) {
      this.#together ??= new Programs(this.#readOptions(), this.graphs);
      return [await this.#together.run(runs[0])];
    }
    // The runtime must flush denormal numbers to zero in this thread too, so that all threads compute the same values.
    if (this.#apart === null) await flushDenormals();
    const threads = (this.#apart ??= this.#newThreads());
    // Waits for all runs before it reports a failure, because ending a thread while it computes crashes the process.
    const outcomes = await Promise.allSettled(runs.map((run) => threads.run("run", run)));
    return outcomes.map((outcome) => {
      if (outcome.status === "rejected") throw outcome.reason;
      return outcome.value;
    });
  }

  /** Frees all programs. The caller must first wait for the end of all runs. */
  async close(): Promise<void> {
    const apart = this.#apart;
    this.#apart = null;
    await Promise.all([this.#together?.close(), apart?.close()]);
  }

  #readOptions(): ProgramsOptions {
    const { readWeights, ...others } = this.#options;
    return (this.#programsOptions ??= { ...others, weights: readWeights() });
  }

  #newThreads(): WorkerPool<ProgramTasks, ProgramsOptions> {
    const { count } = this.division;
    const threads = Math.floor(this.#options.threads / count);
    return new WorkerPool({
      module: new URL("./programs.js", import.meta.url),
      workerCount: count,
      data: { ...this.#readOptions(), threads },
      stageMs: [runMs],
      memoryMebibytes: threadMebibytes,
    });
  }
}

/**
 * Chooses how many parts run in parallel, and the minimum number of tokens in a part.
 * - Each part reads all weights. Reading them from memory adds 8 % to the time of the matrix products of 500 tokens,
 * and 16 % to that of 250 tokens.
 * - 8-bit weights have a quarter of the bytes and faster products, so smaller parts still pay off.
 */
function divisionOf({ config, forms, threads }: ComputeOptions): Division {
  const count = sideBySideOf(threads);
  const isRounded = forms !== undefined && forms.size > 0;
  return isRounded || float32Bytes(modelParameters(config)) <= CACHED_WEIGHT_BYTES
    ? { count, tokensMin: 250, excessMax: 1.17 }
    : { count, tokensMin: 500, excessMax: 1.07 };
}

/** Returns the largest number of parallel runs that leaves at most 10 % of the threads idle. */
function sideBySideOf(threads: number): number {
  let count = Math.min(threads, SIDE_BY_SIDE_MAX);
  while (count * Math.floor(threads / count) < THREAD_SHARE_MIN * threads) count -= 1;
  return count;
}

// Runs of programs, one with all compute threads or several side by side. Threads that share a program wait for the slowest
// of them at each of its operations, and for whatever else the system runs in its place; side by side they do not.
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

/** How many runs go side by side at most: each has a part of what is computed at once, and programs of its own. */
const SIDE_BY_SIDE_MAX = 8;

/** The share of the threads that compute at least, where they do not come out even. */
const THREAD_SHARE_MIN = 0.9;

/** Weights of so many bytes stay in the processor's caches. */
const CACHED_WEIGHT_BYTES = 32e6;

/** A run has no deadline of its own, since training has one: this is the longest time that a timer takes. */
const runMs = 2 ** 31 - 1;

const threadMebibytes = 4096;

export class ComputeThreads {
  /** How many runs go side by side, each with as many threads, and which. */
  readonly division: Division;
  /** Of the programs that have all threads. */
  readonly graphs: ProgramGraphs;
  readonly #options: ProgramsOptions;
  readonly #together: Programs;
  #apart: WorkerPool<ProgramTasks, ProgramsOptions> | null = null;

  /** @param options.threads how many compute, in all */
  constructor(options: ProgramsOptions) {
    this.division = divisionOf(options);
    this.#options = options;
    this.graphs = new ProgramGraphs(options.config, options.forms);
    this.#together = new Programs(options, this.graphs);
  }

  /**
   * One run with all threads, which blocks this one, or as many as the division has parts at the same time.
   *
   * @throws what `Programs.run` throws
   */
  async run(runs: readonly ProgramRun[]): Promise<readonly ProgramOutputs[]> {
    if (runs.length === 1) return [await this.#together.run(runs[0])];
    // So that all threads compute alike.
    if (this.#apart === null) await flushDenormals();
    const threads = (this.#apart ??= this.#newThreads());
    // A failure is reported once all have ended: a thread that is ended while it computes takes the process along.
    const outcomes = await Promise.allSettled(runs.map((run) => threads.run("run", run)));
    return outcomes.map((outcome) => {
      if (outcome.status === "rejected") throw outcome.reason;
      return outcome.value;
    });
  }

  /** Frees every program; nothing may run. */
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
 * Each part reads all weights for itself. Where they come from memory, that takes 8 % of its products' time with 500 tokens,
 * and twice that with half as many; products so large lose little among threads that share them. Those of 8 bits take less
 * time, and threads that share them wait for one another more of it, while their weights are a quarter of the bytes.
 */
function divisionOf({ config, forms, threads }: ProgramsOptions): Division {
  const count = sideBySideOf(threads);
  const isRounded = forms !== undefined && forms.size > 0;
  return isRounded || float32Bytes(modelParameters(config)) <= CACHED_WEIGHT_BYTES
    ? { count, tokensMin: 250, excessMax: 1.17 }
    : { count, tokensMin: 500, excessMax: 1.07 };
}

/** As many runs as leave few threads without work. */
function sideBySideOf(threads: number): number {
  let count = Math.min(threads, SIDE_BY_SIDE_MAX);
  while (count * Math.floor(threads / count) < THREAD_SHARE_MIN * threads) count -= 1;
  return count;
}

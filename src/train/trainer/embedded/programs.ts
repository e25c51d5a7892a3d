// The training programs, loaded on demand and kept between jobs.
import type { Tensor } from "../../../lib/graph/tensor.ts";
import type { WeightSource } from "../../../lib/graph/weight-source.ts";
import type { ModelConfig } from "../../../inference/architectures/config.ts";
import type { WeightForms } from "../../../inference/architectures/quantized/weight-forms.ts";
import type { TaskHandlers } from "../../../base/processes/tasks.ts";
import { type Session, createSession } from "../../../inference/onnx/session.ts";
import { keyOf, PROGRAM_COUNT_MAX, type Program, ProgramGraphs } from "./program-graphs.ts";

/** One run of a program. */
export interface ProgramRun {
  readonly program: Program;
  /** A tensor for each input. */
  readonly feeds: Readonly<Record<string, Tensor>>;
}

/** A tensor for each output. */
export type ProgramOutputs = Readonly<Record<string, Tensor>>;

/** Task of a worker pool. Each thread computes its own run to the end and does not wait for other threads. */
export interface ProgramTasks {
  readonly run: { readonly task: ProgramRun; readonly result: ProgramOutputs };
}

export interface ProgramsOptions {
  readonly config: ModelConfig;
  /** A weight for each parameter of the model. `forms` is the storage form of these weights. */
  readonly weights: ReadonlyMap<string, WeightSource>;
  readonly forms?: WeightForms;
  /** Number of compute threads, including the caller's. */
  readonly threads: number;
}

// Creates the handlers of a worker. For each run, the runtime allocates new result arrays, which the caller owns.
export function openTasks(options: ProgramsOptions): TaskHandlers<ProgramTasks> {
  const programs = new Programs(options);
  return { run: (task) => programs.run(task) };
}

export class Programs {
  readonly #options: ProgramsOptions;
  readonly #graphs: ProgramGraphs;
  /** Least recently used first. */
  readonly #sessions = new Map<string, Session>();

  constructor(options: ProgramsOptions, graphs = new ProgramGraphs(options.config, options.forms)) {
    this.#options = options;
    this.#graphs = graphs;
  }

  /**
   * Runs a program, one at a time.
   * @throws the errors of `createSession` and `Session.run`
   */
  async run({ program, feeds }: ProgramRun): Promise<ProgramOutputs> {
    const session = await this.#session(program);
    return await session.run(feeds);
  }

  /** Frees all programs. */
  async close(): Promise<void> {
    const sessions = [...this.#sessions.values()];
    this.#sessions.clear();
    this.#graphs.clear();
    for (const session of sessions) await session.release();
  }

  async #session(program: Program): Promise<Session> {
    const key = keyOf(program);
    const known = this.#sessions.get(key);
    this.#sessions.delete(key);
    const session = known ?? (await this.#load(program));
    this.#sessions.set(key, session);
    if (this.#sessions.size > PROGRAM_COUNT_MAX) {
      const [[longestUnused, released]] = this.#sessions;
      this.#sessions.delete(longestUnused);
      await released.release();
    }
    return session;
  }

  #load(program: Program): Promise<Session> {
    const { weights, threads } = this.#options;
    // The weights are not copied: they are mapped from the same file as in serving, and large products gain little
    // from copies.
    const economy = { prepackWeights: false, plansMemory: false, optimizesProgram: false };
    return createSession(this.#graphs.of(program), { weights, threads, ...economy });
  }
}

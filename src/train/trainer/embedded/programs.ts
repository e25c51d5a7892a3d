// Runs training programs. Each program is loaded at its first run and stays loaded between jobs.
import type { Tensor } from "../../../lib/graph/tensor.ts";
import type { WeightSource } from "../../../lib/graph/weight-source.ts";
import type { ModelConfig } from "../../../inference/architectures/config.ts";
import type { WeightForms } from "../../../inference/architectures/quantized/weight-forms.ts";
import type { TaskHandlers } from "../../../base/processes/tasks.ts";
import { type Session, createSession } from "../../../inference/onnx/session.ts";
import { keyOf, PROGRAM_COUNT_MAX, type Program, ProgramGraphs } from "./program-graphs.ts";

/** One run of a training program. */
export interface ProgramRun {
  readonly program: Program;
  /** The tensor of each program input, by the input's name. */
  readonly feeds: Readonly<Record<string, Tensor>>;
}

/** The tensor of each program output, by the output's name. */
export type ProgramOutputs = Readonly<Record<string, Tensor>>;

/** Task of the worker pool: each worker thread computes one program run by itself and waits for no other thread. */
export interface ProgramTasks {
  readonly run: { readonly task: ProgramRun; readonly result: ProgramOutputs };
}

export interface ProgramsOptions {
  readonly config: ModelConfig;
  /** The weight of each model parameter, by the parameter's name. `forms` says how these weights are stored. */
  readonly weights: ReadonlyMap<string, WeightSource>;
  readonly forms?: WeightForms;
  /** Number of compute threads, including the calling thread. */
  readonly threads: number;
}

// Creates a worker thread's task handlers. ONNX Runtime allocates result arrays for each run; the caller owns them.
export function openTasks(options: ProgramsOptions): TaskHandlers<ProgramTasks> {
  const programs = new Programs(options);
  return { run: (task) => programs.run(task) };
}

export class Programs {
  readonly #options: ProgramsOptions;
  readonly #graphs: ProgramGraphs;
  /** Loaded programs by their keys, the least recently used first. */
  readonly #sessions = new Map<string, Session>();

  constructor(options: ProgramsOptions, graphs = new ProgramGraphs(options.config, options.forms)) {
    this.#options = options;
    this.#graphs = graphs;
  }

  /**
   * Runs a program. The caller must wait for the end of each run before the next.
   *
   * @throws the errors of `createSession` and `Session.run`
   */
  async run({ program, feeds }: ProgramRun): Promise<ProgramOutputs> {
    const session = await this.#session(program);
    return await session.run(feeds);
  }

  /** Frees all loaded programs; a later run loads its program again. */
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
    // ONNX Runtime must not make packed copies of the weights: they are mapped from the file that serving also maps,
    // and copies would hardly speed up the large products of training.
    // Programs run one after the other, so they share the heap instead of each keeping the memory of its largest run.
    const economy = {
      prepackWeights: false,
      plansMemory: false,
      keepsMemory: false,
      optimizesProgram: false,
    };
    return createSession(this.#graphs.of(program), { weights, threads, ...economy });
  }
}

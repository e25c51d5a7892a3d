// Caches the graphs of training programs, which are built on demand and kept between jobs. A graph serves first to
// estimate the program's memory, before a job's first step, and later to load the program.
import type { Graph } from "../../../lib/graph/graph.ts";
import type { ModelConfig } from "../../../inference/architectures/config.ts";
import type { WeightForms } from "../../../inference/architectures/quantized/weight-forms.ts";
import {
  type GradientGraphOptions,
  type GraphOptions,
  buildGradientGraph,
  buildLogprobGraph,
} from "./training-graphs.ts";

/** Plain-data description of a training program. It can therefore be sent to another thread. */
export type Program =
  | ({ readonly kind: "logprobs" } & GraphOptions)
  | ({ readonly kind: "gradient" } & Required<GradientGraphOptions>);

/**
 * Maximum number of cached programs; one job never needs more. Programs differ by token layout, loss, adapter shape and
 * whether each token's output predicts one token. Most jobs have two programs, and the next job reuses them.
 */
export const PROGRAM_COUNT_MAX = 8;

export class ProgramGraphs {
  readonly #config: ModelConfig;
  readonly #forms: WeightForms;
  /** Graphs by the keys of their programs, the least recently used first. */
  readonly #graphs = new Map<string, Graph>();

  /** @param forms storage forms (such as 8-bit) of the frozen weights; float32 for weights without an entry */
  constructor(config: ModelConfig, forms: WeightForms = new Map()) {
    this.#config = config;
    this.#forms = forms;
  }

  of(program: Program): Graph {
    const key = keyOf(program);
    const graph = this.#graphs.get(key) ?? graphOf(this.#config, program, this.#forms);
    this.#graphs.delete(key);
    this.#graphs.set(key, graph);
    const [longestUnused] = this.#graphs.keys();
    if (this.#graphs.size > PROGRAM_COUNT_MAX && longestUnused !== undefined)
      this.#graphs.delete(longestUnused);
    return graph;
  }

  clear(): void {
    this.#graphs.clear();
  }
}

function graphOf(config: ModelConfig, program: Program, forms: WeightForms): Graph {
  return program.kind === "gradient"
    ? buildGradientGraph(config, program, forms)
    : buildLogprobGraph(config, program, forms);
}

/** Returns the program's complete description as a cache key, so that different programs have different keys. */
export function keyOf(program: Program): string {
  return JSON.stringify(program);
}

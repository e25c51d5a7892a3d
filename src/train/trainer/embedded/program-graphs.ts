// Cache of the training programs' graphs, which are built on demand and kept between jobs. The same graph serves to
// estimate a program's memory before a job's first step, and later to load the program.
import type { Graph } from "../../../lib/graph/graph.ts";
import type { ModelConfig } from "../../../inference/architectures/config.ts";
import type { WeightForms } from "../../../inference/architectures/quantized/weight-forms.ts";
import {
  type GradientGraphOptions,
  type GraphOptions,
  buildGradientGraph,
  buildLogprobGraph,
} from "./training-graphs.ts";

/** Description of a program as plain data, so that it can be sent to another thread. */
export type Program =
  | ({ readonly kind: "logprobs" } & GraphOptions)
  | ({ readonly kind: "gradient" } & Required<GradientGraphOptions>);

/**
 * Maximum number of cached programs, which one job never exceeds. Programs differ by layout, distinct places, loss and
 * adapter shape. Most jobs have two programs, which the next job uses too.
 */
export const PROGRAM_COUNT_MAX = 8;

export class ProgramGraphs {
  readonly #config: ModelConfig;
  readonly #forms: WeightForms;
  /** Least recently used first. */
  readonly #graphs = new Map<string, Graph>();

  /** @param forms storage forms of the frozen weights */
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

  /** Removes all graphs. */
  clear(): void {
    this.#graphs.clear();
  }
}

function graphOf(config: ModelConfig, program: Program, forms: WeightForms): Graph {
  return program.kind === "gradient"
    ? buildGradientGraph(config, program, forms)
    : buildLogprobGraph(config, program, forms);
}

/** Returns the complete description as text, so that different programs have different keys. */
export function keyOf(program: Program): string {
  return JSON.stringify(program);
}

// The graphs of training programs, built when they are first needed: what a program is estimated by before a job's first step
// is what it is loaded from then. Kept from job to job; nothing here computes.
import type { Graph } from "../../../lib/graph/graph.ts";
import type { ModelConfig } from "../../../inference/architectures/config.ts";
import type { WeightForms } from "../../../inference/architectures/quantized/weight-forms.ts";
import {
  type GradientGraphOptions,
  type GraphOptions,
  buildGradientGraph,
  buildLogprobGraph,
} from "./training-graphs.ts";

/** Which program: plain data, so that it can be named from another thread. */
export type Program =
  | ({ readonly kind: "logprobs" } & GraphOptions)
  | ({ readonly kind: "gradient" } & Required<GradientGraphOptions>);

/** Programs differ by layout, places, loss and adapter shape; a job has eight at most, most have two that the next one shares. */
export const PROGRAM_COUNT_MAX = 8;

export class ProgramGraphs {
  readonly #config: ModelConfig;
  readonly #forms: WeightForms;
  /** In order of use, the longest unused first. */
  readonly #graphs = new Map<string, Graph>();

  /** @param forms how the frozen weights are stored */
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

  /** Forgets every graph. */
  clear(): void {
    this.#graphs.clear();
  }
}

function graphOf(config: ModelConfig, program: Program, forms: WeightForms): Graph {
  return program.kind === "gradient"
    ? buildGradientGraph(config, program, forms)
    : buildLogprobGraph(config, program, forms);
}

/** All that the description says, so that no two programs share a name. */
export function keyOf(program: Program): string {
  return JSON.stringify(program);
}

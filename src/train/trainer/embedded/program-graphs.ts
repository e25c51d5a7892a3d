// A cache of the training programs' graphs, built on demand and kept between jobs. A program is estimated before a
// job's first step and later loaded from the same graph. Nothing here computes.
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
 * Programs differ by layout, places, loss and adapter shape. A job has at most eight; most have two, which the next
 * job shares.
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

/** Returns the whole description, so that no two programs share a key. */
export function keyOf(program: Program): string {
  return JSON.stringify(program);
}

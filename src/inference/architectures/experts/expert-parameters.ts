// Names and shapes of the parameters of a mixture of experts. The weights of all experts of a layer are one parameter,
// whose first axis is the expert.
import { present } from "../../../base/domain/assert.ts";
import type { ModelConfig } from "../config.ts";

/** Names of the parameters of a layer's experts and router. */
export interface ExpertNames {
  /** Weight of the router, [E, D], and its bias, [E]. */
  readonly router: string;
  readonly routerBias: string;
  /** For each expert, the weight of its gate projection followed by that of its up projection: [E, 2 I, D]. */
  readonly gateUp: string;
  /** For each expert, the weight of its down projection: [E, D, I]. */
  readonly down: string;
  /** Weight of the projection that computes the shared expert's factor, [1, D]. */
  readonly sharedGate: string;
}

export function expertNames({ architecture }: ModelConfig, layer: number): ExpertNames {
  const path = `model.layers.${layer}.mlp`;
  const router = `${path}.${architecture === "GptOssForCausalLM" ? "router" : "gate"}`;
  return {
    router: `${router}.weight`,
    routerBias: `${router}.bias`,
    gateUp: `${path}.experts.gate_up_proj`,
    down: `${path}.experts.down_proj`,
    sharedGate: `${path}.shared_expert_gate.weight`,
  };
}

/** Returns the name of the parameter with the biases of all experts, [E, N], given the name of their weights. */
export function stackBiasName(stack: string): string {
  return `${stack}_bias`;
}

/** True if the parameter with this name holds the biases of all experts of a layer. */
export function isStackBias(name: string): boolean {
  return name.endsWith("_proj_bias");
}

/** True if the parameter with this name holds the weights of all experts of a layer. */
export function isExpertStack(name: string): boolean {
  return /\.experts\.(gate_up|down)_proj$/.test(name);
}

interface ExpertParameter {
  readonly name: string;
  readonly shape: readonly number[];
}

/** Returns the parameters of a layer's experts and router; none if the layer has no experts. */
export function expertParameters(config: ModelConfig, layer: number): readonly ExpertParameter[] {
  const own = config.layers[layer].experts;
  if (own === undefined) return [];
  const { width } = config;
  const { count, intermediateSize, hasBias } = present(config.experts, "experts");
  const names = expertNames(config, layer);
  const stack = (name: string, rows: number, columns: number): readonly ExpertParameter[] => [
    { name, shape: [count, rows, columns] },
    ...(hasBias ? [{ name: stackBiasName(name), shape: [count, rows] }] : []),
  ];
  return [
    { name: names.router, shape: [count, width] },
    ...(hasBias ? [{ name: names.routerBias, shape: [count] }] : []),
    ...(own === "routed-and-shared" ? [{ name: names.sharedGate, shape: [1, width] }] : []),
    ...stack(names.gateUp, 2 * intermediateSize, width),
    ...stack(names.down, width, intermediateSize),
  ];
}

// Names and shapes of the parameters of a mixture of experts. The weights of all experts of a layer are one parameter,
// whose first axis is the expert.
import { present } from "../../../base/domain/assert.ts";
import type { ModelConfig } from "../config.ts";

/** Names of a layer's parameters besides its projections. */
export interface ExpertNames {
  /** Weight of the router, [E, D]. */
  readonly router: string;
  /** Weights of gate and up of each expert, one after the other: [E, 2 I, D]. */
  readonly gateUp: string;
  /** Weights of down of each expert: [E, D, I]. */
  readonly down: string;
  /** Weight of the factor of the shared expert, [1, D]. */
  readonly sharedGate: string;
}

export function expertNames(layer: number): ExpertNames {
  const path = `model.layers.${layer}.mlp`;
  return {
    router: `${path}.gate.weight`,
    gateUp: `${path}.experts.gate_up_proj`,
    down: `${path}.experts.down_proj`,
    sharedGate: `${path}.shared_expert_gate.weight`,
  };
}

/** True for a parameter with the weights of all experts of a layer. */
export function isExpertStack(name: string): boolean {
  return /\.experts\.(gate_up|down)_proj$/.test(name);
}

/** Returns a layer's parameters of experts; none if the layer has no experts. */
export function expertParameters(
  config: ModelConfig,
  layer: number,
): readonly { readonly name: string; readonly shape: readonly number[] }[] {
  const own = config.layers[layer].experts;
  if (own === undefined) return [];
  const { width } = config;
  const { count, intermediateSize } = present(config.experts, "experts");
  const names = expertNames(layer);
  return [
    { name: names.router, shape: [count, width] },
    ...(own === "routed-and-shared" ? [{ name: names.sharedGate, shape: [1, width] }] : []),
    { name: names.gateUp, shape: [count, 2 * intermediateSize, width] },
    { name: names.down, shape: [count, width, intermediateSize] },
  ];
}

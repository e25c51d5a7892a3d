// For tests and benchmarks: a model's weights in memory, without a file.
import { present } from "../../../base/domain/assert.ts";
import type { WeightSource } from "../../../lib/graph/weight-source.ts";
import type { ModelConfig } from "../config.ts";
import { modelParameters } from "../parameters.ts";
import { rotarySources } from "../serving/rotary-sources.ts";

/** Returns weight sources for arrays in memory, and for the rotary tables. Does not copy the arrays. */
export function weightsInMemory(
  config: ModelConfig,
  weights: ReadonlyMap<string, Float32Array>,
): ReadonlyMap<string, WeightSource<"float32">> {
  const named = modelParameters(config).map(
    ({ name }) => [name, { data: present(weights.get(name), name) }] as const,
  );
  return new Map([...named, ...rotarySources(config)]);
}

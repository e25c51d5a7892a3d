// For tests and benches: a model's weights in memory, without a file.
import { present } from "../../../base/domain/assert.ts";
import type { WeightSource } from "../../../lib/graph/weight-source.ts";
import type { ModelConfig } from "../config.ts";
import { modelParameters } from "../parameters.ts";
import { rotarySources } from "../weights.ts";

/** Returns sources from weights in memory, with the rotary tables; the arrays are not copied. */
export function weightsInMemory(
  config: ModelConfig,
  weights: ReadonlyMap<string, Float32Array>,
): ReadonlyMap<string, WeightSource<"float32">> {
  const named = modelParameters(config).map(
    ({ name }) => [name, { data: present(weights.get(name), name) }] as const,
  );
  return new Map([...named, ...rotarySources(config)]);
}

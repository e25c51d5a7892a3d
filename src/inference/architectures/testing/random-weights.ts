// Creates the weights of an untrained model from a seed, and writes them to a folder. Used for the start of
// pretraining, and in tests and benchmarks.
import { join } from "node:path";
import { present } from "../../../base/domain/assert.ts";
import { seededRandom } from "../../../base/domain/random.ts";
import type { ModelConfig } from "../config.ts";
import { isNormWeight, isStoredAsOffset, modelParameters } from "../parameters.ts";
import { writeSafetensors, type WriteOptions } from "../../../lib/model-files/write-safetensors.ts";

/**
 * Draws random weights: norms are one, biases zero, and all others uniform with the given standard deviation. The same
 * seed gives the same weights.
 *
 * @returns by name, in the order of `modelParameters`
 */
export function createRandomWeights(
  config: ModelConfig,
  { seed, deviation = 0.02 }: { readonly seed: number | string; readonly deviation?: number },
): ReadonlyMap<string, Float32Array> {
  const bound = deviation * Math.sqrt(3);
  return new Map(
    modelParameters(config).map(({ name, shape }) => {
      const weights = new Float32Array(shape.reduce((product, size) => product * size, 1));
      if (isNormWeight(name)) return [name, weights.fill(1)];
      if (name.endsWith(".bias")) return [name, weights];
      const random = seededRandom("weights", seed, name);
      for (let index = 0; index < weights.length; index++)
        weights[index] = bound * (2 * random.uniform() - 1);
      return [name, weights];
    }),
  );
}

/** Writes `model.safetensors` into a folder, in the Hugging Face layout. */
export function writeModelWeights(
  folder: string,
  config: ModelConfig,
  {
    weights,
    type,
  }: { readonly weights: ReadonlyMap<string, Float32Array>; readonly type: WriteOptions["type"] },
): void {
  const tensors = modelParameters(config).map(({ name, shape }) => {
    const data = present(weights.get(name), name);
    const isOffset = isStoredAsOffset(name, config);
    return { name, shape, data: isOffset ? data.map((value) => value - 1) : data };
  });
  writeSafetensors(join(folder, "model.safetensors"), tensors, { type });
}

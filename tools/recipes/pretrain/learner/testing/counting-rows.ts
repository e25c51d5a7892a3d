// A model with few weights for tests, and batches from which it can learn to count.
import { seededRandom } from "../../../../../src/base/domain/random.ts";
import type { ModelConfig } from "../../../../../src/inference/architectures/config.ts";
import { readModelConfig } from "../../../../../src/inference/architectures/config/read-config.ts";
import type { Batch } from "../rows.ts";

const full = readModelConfig("models/hone-tiny");

export const countingConfig: ModelConfig = {
  ...full,
  vocabularySize: 20,
  width: 16,
  intermediateSize: 24,
  headCount: 2,
  kvHeadCount: 2,
  headSize: 8,
  rotarySize: 8,
  layers: full.layers.slice(0, 2),
};

/** Returns a batch whose rows count upwards, so that each token determines the next one. */
export function countingBatch(seed: number): Batch {
  const random = seededRandom("counting", seed);
  const tokens: number[] = [];
  const places: number[] = [];
  for (let row = 0; row < 5; row++) {
    const start = random.index(10);
    for (let place = 0; place < 8; place++) tokens.push(start + place);
    // Each row trains a different number of positions, so the workers' gradients must be weighted to add up correctly.
    for (let place = row; place < 7; place++) places.push(row * 8 + place);
  }
  return {
    rowCount: 5,
    length: 8,
    tokens_BT: BigInt64Array.from(tokens, BigInt),
    places_N: BigInt64Array.from(places, BigInt),
    targets_N: BigInt64Array.from(places, (place) => BigInt(tokens[place + 1] ?? 0)),
    weights_N: Float32Array.from(places, (place) => 1 / (1 + (place % 3))),
  };
}

// For tests: an adapter like a trained one, in which every matrix changes the model's output.
import { seededRandom } from "../../../base/domain/random.ts";
import type { ModelConfig } from "../config.ts";
import { createLoraAdapter, type LoraAdapter, type LoraOptions } from "../lora.ts";

/**
 * Like `createLoraAdapter`, but draws the B matrices uniformly from −bound to `bound` instead of setting them to zero.
 */
export function createRandomAdapter(
  config: ModelConfig,
  { bound = 0.5, ...options }: LoraOptions & { readonly bound?: number },
): LoraAdapter {
  const adapter = createLoraAdapter(config, options);
  const random = seededRandom("adapter", options.seed);
  for (const [name, matrix] of adapter.matrices) {
    if (name.endsWith("lora_B.weight"))
      matrix.forEach((_, index) => (matrix[index] = bound * (2 * random.uniform() - 1)));
  }
  return adapter;
}

// The dimensions of a model that determine the sizes of the cache and of the logits. The rest of the model's
// configuration is not needed here.
import type { CacheShape } from "../architectures/config.ts";
import type { StateShape } from "../architectures/serving/sequence-memory.ts";

export interface ModelShape {
  /** Heads of the keys and values, for each layer that has keys and values. */
  readonly caches: readonly CacheShape[];
  /** Shapes of the states that a sequence has besides keys and values; empty if the model has none. */
  readonly states: readonly StateShape[];
  readonly vocabularySize: number;
  /** Maximum number of tokens in prompt and answer together. */
  readonly contextLength: number;
}

/** True if layers have state matrices (delta rules, Mamba-2), which change with every token. */
export function hasMatrices({ states }: Pick<ModelShape, "states">): boolean {
  return states.some(({ kind }) => kind === "matrices");
}

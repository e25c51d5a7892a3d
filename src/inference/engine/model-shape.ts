// The dimensions of a model that determine the sizes of the cache and of the logits. They do not describe its
// computation.
import type { StateShape } from "../architectures/serving/sequence-memory.ts";

export interface ModelShape {
  /** Number of layers with keys and values. */
  readonly layerCount: number;
  readonly kvHeadCount: number;
  readonly headSize: number;
  /** Shapes of a sequence's states, which it has besides keys and values; empty if the model has none. */
  readonly states: readonly StateShape[];
  readonly vocabularySize: number;
  /** Maximum number of tokens in prompt and answer together. */
  readonly contextLength: number;
}

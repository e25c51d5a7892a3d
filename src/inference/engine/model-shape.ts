// The dimensions of a model that determine the sizes of the cache and of the logits. They do not describe its
// computation.
import type { StateShape } from "../architectures/serving/sequence-memory.ts";

export interface ModelShape {
  /** Number of layers with keys and values. */
  readonly layerCount: number;
  readonly kvHeadCount: number;
  readonly headSize: number;
  /** States of a sequence, besides its keys and values; empty if the model has none. */
  readonly states: readonly StateShape[];
  readonly vocabularySize: number;
  /** Maximum tokens of prompt and answer together. */
  readonly contextLength: number;
}

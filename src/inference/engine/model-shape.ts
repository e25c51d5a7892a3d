// The dimensions of a model that determine the sizes of the cache and of the logits. They do not describe its
// computation.

export interface ModelShape {
  readonly layerCount: number;
  readonly kvHeadCount: number;
  readonly headSize: number;
  readonly vocabularySize: number;
  /** Maximum tokens of prompt and answer together. */
  readonly contextLength: number;
}

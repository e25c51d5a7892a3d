// The dimensions of a model that decide the sizes of the cache and of the scores. Not a description of its
// computation.

export interface ModelShape {
  readonly layerCount: number;
  readonly kvHeadCount: number;
  readonly headSize: number;
  readonly vocabularySize: number;
  /** Maximum tokens of prompt and answer together. */
  readonly contextLength: number;
}

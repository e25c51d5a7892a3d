// The numbers of a model that decide the sizes of the cache and of the scores. What the model computes is not said here.

export interface ModelShape {
  readonly layerCount: number;
  readonly kvHeadCount: number;
  readonly headSize: number;
  readonly vocabularySize: number;
  /** Tokens in prompt and answer together. */
  readonly contextLength: number;
}

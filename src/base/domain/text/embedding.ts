// Requests for embeddings, and their results.

/** A text to embed, or the tokens of one. */
export type EmbeddedInput =
  | { readonly kind: "text"; readonly text: string }
  | { readonly kind: "tokens"; readonly tokenIds: readonly number[] };

export interface EmbeddingRequest {
  /** Model name in the request; null for the server's default model. */
  readonly model: string | null;
  /** Texts to embed; at least one. */
  readonly inputs: readonly EmbeddedInput[];
  /** Number of leading dimensions to keep of each embedding, at least 1; null to keep all. */
  readonly dimensions: number | null;
}

export interface Embeddings {
  /** Model name in the request, or the name of the default model. */
  readonly model: string;
  /** One embedding for each input, normalized to length 1. */
  readonly embeddings: readonly Float32Array[];
  /** Number of tokens in all inputs together. */
  readonly tokenCount: number;
}

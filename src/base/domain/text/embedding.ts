// Embeddings in the domain's words: what is asked, and what comes back.

/** A text, or its tokens. */
export type EmbeddedInput =
  | { readonly kind: "text"; readonly text: string }
  | { readonly kind: "tokens"; readonly tokenIds: readonly number[] };

export interface EmbeddingRequest {
  /** Null is the default model. */
  readonly model: string | null;
  /** At least one. */
  readonly inputs: readonly EmbeddedInput[];
  /** How many of each embedding's first numbers are kept, at least 1; null keeps all. */
  readonly dimensions: number | null;
}

export interface Embeddings {
  /** The name asked for, or the default model's. */
  readonly model: string;
  /** One for each input, each of length 1. */
  readonly embeddings: readonly Float32Array[];
  /** Of all inputs together. */
  readonly tokenCount: number;
}

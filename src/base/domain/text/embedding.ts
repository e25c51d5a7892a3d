// Requests for embeddings and their results.

/** Text to embed, or its tokens. */
export type EmbeddedInput =
  | { readonly kind: "text"; readonly text: string }
  | { readonly kind: "tokens"; readonly tokenIds: readonly number[] };

export interface EmbeddingRequest {
  /** Requested model; null for the default model. */
  readonly model: string | null;
  /** Texts to embed; at least one. */
  readonly inputs: readonly EmbeddedInput[];
  /** Number of leading dimensions of each embedding to keep, at least 1; null keeps all. */
  readonly dimensions: number | null;
}

export interface Embeddings {
  /** Name of the model as requested, or the default model's name. */
  readonly model: string;
  /** Embeddings, one for each input, normalized to length 1. */
  readonly embeddings: readonly Float32Array[];
  /** Total tokens of all inputs. */
  readonly tokenCount: number;
}

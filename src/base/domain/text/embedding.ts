// Requests for embeddings and their results.

/** A text, or its tokens. */
export type EmbeddedInput =
  | { readonly kind: "text"; readonly text: string }
  | { readonly kind: "tokens"; readonly tokenIds: readonly number[] };

export interface EmbeddingRequest {
  /** Null for the default model. */
  readonly model: string | null;
  /** At least one. */
  readonly inputs: readonly EmbeddedInput[];
  /** Number of leading values to keep of each embedding, at least 1; null keeps all. */
  readonly dimensions: number | null;
}

export interface Embeddings {
  /** The requested name, or the default model's. */
  readonly model: string;
  /** One vector of length 1 (norm) for each input. */
  readonly embeddings: readonly Float32Array[];
  /** Total tokens of all inputs. */
  readonly tokenCount: number;
}

// Configuration of a decoder model: its sizes, norms, attention and rotary embedding, as a readonly value.
// `read-config` reads it from a Hugging Face folder; this module touches no files.
import type { RotaryConfig } from "./rotary.ts";

/** The Hugging Face classes that one decoder definition covers. */
export const architectures = [
  "LlamaForCausalLM",
  "Qwen2ForCausalLM",
  "Qwen3ForCausalLM",
  "MistralForCausalLM",
  "Gemma3ForCausalLM",
  "GraniteForCausalLM",
  "SmolLM3ForCausalLM",
  "Olmo2ForCausalLM",
  "Olmo3ForCausalLM",
  "Phi3ForCausalLM",
  "Ministral3ForCausalLM",
] as const;

export type Architecture = (typeof architectures)[number];

/** Options that differ between layers. */
export interface LayerConfig {
  /** Positions that a token attends to, itself included; null for all before it. */
  readonly slidingWindow: number | null;
  /** Index into {@link ModelConfig.rotaries}; null if only the order of attention encodes positions. */
  readonly rotary: number | null;
  /** Like `rotary`, for the queries; absent if it is the same. */
  readonly queryRotary?: number;
}

export interface ModelConfig {
  readonly architecture: Architecture;
  readonly vocabularySize: number;
  readonly width: number;
  readonly intermediateSize: number;
  readonly headCount: number;
  /** Divides `headCount`. */
  readonly kvHeadCount: number;
  /** Need not be width / headCount. */
  readonly headSize: number;
  /** Number of leading dimensions of each head that the rotary embedding rotates; the rest are unchanged. Even. */
  readonly rotarySize: number;
  /** Maximum tokens of prompt and answer together. */
  readonly contextLength: number;
  readonly layers: readonly LayerConfig[];
  /** Each distinct rotary embedding once. */
  readonly rotaries: readonly RotaryConfig[];
  readonly normEpsilon: number;
  /** Gemma stores norm weights as their distance from one. */
  readonly isNormOffset: boolean;
  /** True if the inputs of attention and feed-forward are normalised. */
  readonly hasInputNorms: boolean;
  /** True if the outputs of attention and feed-forward are normalised. */
  readonly hasOutputNorms: boolean;
  /** Normalisation of queries and keys before the rotary embedding: each head separately, or all together. */
  readonly queryKeyNorm: "none" | "each-head" | "all-heads";
  readonly hasQueryKeyValueBias: boolean;
  readonly hasOutputBias: boolean;
  /** True if files fuse queries, keys and values into one projection, and gate and up into another. */
  readonly hasFusedProjections: boolean;
  readonly activation: "silu" | "gelu-tanh";
  /** True if the output projection is the embedding. */
  readonly isTied: boolean;
  /** Multiplies the embeddings. */
  readonly embeddingScale: number;
  /** Multiplies the attention scores. */
  readonly attentionScale: number;
  /** Multiplies the outputs that attention and feed-forward add to the residual stream. */
  readonly residualScale: number;
  /** Multiplies the logits. */
  readonly logitScale: number;
  /** Bounds the logits smoothly: cap · tanh(logits / cap); null if they are unbounded. */
  readonly logitCap: number | null;
  /** Tokens that end a text; from generation_config.json, or config.json if that names none. */
  readonly endOfTextIds: readonly number[];
}

// What a model is: sizes, norms, attention and rotary embedding of one decoder, as a readonly value.
// Read from a Hugging Face folder by read-config.ts; nothing here touches files.
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

/** What one layer has of its own. */
export interface LayerConfig {
  /** How many positions a token sees, itself included; null sees all before it. */
  readonly slidingWindow: number | null;
  /** Index into {@link ModelConfig.rotaries}; null: places are told by the order of attention alone. */
  readonly rotary: number | null;
  /** As `rotary`, of the queries; absent if it is the same. */
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
  /** How many numbers of each head the rotary embedding turns, the first ones; the others stay. Even. */
  readonly rotarySize: number;
  /** Tokens in prompt and answer together. */
  readonly contextLength: number;
  readonly layers: readonly LayerConfig[];
  /** Each distinct rotary embedding once. */
  readonly rotaries: readonly RotaryConfig[];
  readonly normEpsilon: number;
  /** Gemma stores norm weights as their distance from one. */
  readonly isNormOffset: boolean;
  /** Whether what attention and feed-forward take is normalised. */
  readonly hasInputNorms: boolean;
  /** Whether what attention and feed-forward return is normalised. */
  readonly hasOutputNorms: boolean;
  /** How queries and keys are normalised before the rotary embedding: each head by itself, or all of them together. */
  readonly queryKeyNorm: "none" | "each-head" | "all-heads";
  readonly hasQueryKeyValueBias: boolean;
  readonly hasOutputBias: boolean;
  /** Whether files hold queries, keys and values as one projection, and gate and up as another. */
  readonly hasFusedProjections: boolean;
  readonly activation: "silu" | "gelu-tanh";
  /** Whether the output projection is the embedding. */
  readonly isTied: boolean;
  /** Multiplies the embeddings. */
  readonly embeddingScale: number;
  /** Multiplies the attention scores. */
  readonly attentionScale: number;
  /** Multiplies what attention and feed-forward add to the residual stream. */
  readonly residualScale: number;
  /** Multiplies the logits. */
  readonly logitScale: number;
  /** Bounds the logits smoothly: cap · tanh(logits / cap); null if they are unbounded. */
  readonly logitCap: number | null;
  /** Any of these ends a text; from generation_config.json, or config.json where that names none. */
  readonly endOfTextIds: readonly number[];
}

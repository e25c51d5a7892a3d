// Configuration of a decoder model as a readonly value: sizes, norms, attention and rotary embeddings. `read-config`
// reads it from a Hugging Face folder; this module reads no files.
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
  "GraniteMoeHybridForCausalLM",
  "Lfm2ForCausalLM",
  "Qwen3_5ForCausalLM",
] as const;

export type Architecture = (typeof architectures)[number];

/** Options that differ between layers, by the kind of computation that relates positions. */
export type LayerConfig = AttentionLayer | ConvolutionLayer | DeltaLayer;

export interface AttentionLayer {
  readonly kind: "attention";
  /** Number of positions that a token attends to, including its own; null if unlimited. */
  readonly slidingWindow: number | null;
  /**
   * Index into {@link ModelConfig.rotaries}; null if the layer has no rotary embedding and only the order of attention
   * encodes positions.
   */
  readonly rotary: number | null;
  /** Rotary index of the queries; absent if it equals `rotary`. */
  readonly queryRotary?: number;
}

/** A gated short convolution (LFM2): C · conv(B · x), where B, C and x are projections of the layer's input. */
export interface ConvolutionLayer {
  readonly kind: "convolution";
}

/**
 * A gated delta rule (Qwen3.5; arXiv:2412.06464): a matrix per head that each token reads, and corrects where it differs
 * from the token's value.
 */
export interface DeltaLayer {
  readonly kind: "delta";
}

/** Dimensions of layers with a delta rule. */
export interface DeltaConfig {
  /** Number of heads of queries and keys; divides `valueHeads`. */
  readonly keyHeads: number;
  /** Number of heads of values, each with a separate state. */
  readonly valueHeads: number;
  readonly keySize: number;
  readonly valueSize: number;
}

/** A causal convolution of each channel with a separate kernel. */
export interface ConvolutionConfig {
  /** Number of positions that an output depends on, including its own. */
  readonly kernelSize: number;
  /** True if the convolution and the layer's projections have biases. */
  readonly hasBias: boolean;
}

export interface ModelConfig {
  readonly architecture: Architecture;
  readonly vocabularySize: number;
  readonly width: number;
  readonly intermediateSize: number;
  readonly headCount: number;
  /** Number of key-value heads; divides `headCount`. */
  readonly kvHeadCount: number;
  /** Size of a head; may differ from width / headCount. */
  readonly headSize: number;
  /** Number of leading dimensions of each head that the rotary embedding rotates; the rest are unchanged. Even. */
  readonly rotarySize: number;
  /** Maximum tokens of prompt and answer together. */
  readonly contextLength: number;
  readonly layers: readonly LayerConfig[];
  /** Distinct rotary embeddings of the layers, each once. */
  readonly rotaries: readonly RotaryConfig[];
  readonly normEpsilon: number;
  /** True if files store norm weights as their distance from one (Gemma). */
  readonly isNormOffset: boolean;
  /** True if the inputs of attention and feed-forward are normalised. */
  readonly hasInputNorms: boolean;
  /** True if the outputs of attention and feed-forward are normalised. */
  readonly hasOutputNorms: boolean;
  /** Normalisation of queries and keys before the rotary embedding: none, each head separately, or all heads together. */
  readonly queryKeyNorm: "none" | "each-head" | "all-heads";
  readonly hasQueryKeyValueBias: boolean;
  readonly hasOutputBias: boolean;
  /** Convolution of the layers that have one; null if none has. */
  readonly convolution: ConvolutionConfig | null;
  /** Delta rule of the layers that have one; null if none has. */
  readonly delta: DeltaConfig | null;
  /** True if attended values are gated by a second half of each query head's projection. */
  readonly hasAttentionGate: boolean;
  readonly activation: "silu" | "gelu-tanh";
  /** True if the output projection uses the embedding's weight. */
  readonly isTied: boolean;
  /** Factor of the embeddings. */
  readonly embeddingScale: number;
  /** Factor of the attention scores. */
  readonly attentionScale: number;
  /** Factor of the outputs that attention and feed-forward add to the residual stream. */
  readonly residualScale: number;
  /** Factor of the logits. */
  readonly logitScale: number;
  /** Soft cap of the logits: cap · tanh(logits / cap); null if uncapped. */
  readonly logitCap: number | null;
  /** Ids of end-of-text tokens, from generation_config.json, or from config.json if the former names none. */
  readonly endOfTextIds: readonly number[];
}

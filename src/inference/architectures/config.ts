// Configuration of a decoder model as a readonly value: sizes, norms, attention and rotary embeddings. This module
// reads no files; `read-config` reads the configuration from a Hugging Face folder.
import type { RotaryConfig } from "./rotary.ts";

/** Hugging Face model classes that Hone's decoder can compute. */
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
  "Gemma4ForCausalLM",
  "Qwen3MoeForCausalLM",
  "Qwen3_5MoeForCausalLM",
  "NemotronHForCausalLM",
  "GptOssForCausalLM",
] as const;

export type Architecture = (typeof architectures)[number];

/**
 * Options of a decoder layer. The kind says how the layer combines information from different positions: by attention,
 * a convolution, a delta rule or Mamba-2. A layer of kind `feed-forward` combines none.
 */
export type LayerConfig = (AttentionLayer | ConvolutionLayer | DeltaLayer | MambaLayer | FeedForwardLayer) &
  FeedForwardOptions;

/** Feed-forward part of a layer. */
export interface FeedForwardOptions {
  /** True if the layer has no feed-forward part after its attention or other computation (Nemotron-H). */
  readonly isAlone?: boolean;
  /**
   * Experts of the layer: `routed`, only those that a router chooses; `routed-and-shared`, also one that every token
   * uses. Absent if the layer has no experts.
   */
  readonly experts?: "routed" | "routed-and-shared";
}

/** A mixture of experts: feed-forward parts, a few of which a router chooses for each token. */
export interface ExpertsConfig {
  readonly count: number;
  /** Number of experts that compute a token. */
  readonly activeCount: number;
  /** Width of an expert. */
  readonly intermediateSize: number;
  /** True if the factors that weight a token's experts add up to one. */
  readonly isNormalized: boolean;
  /** True if the router and the experts have biases. */
  readonly hasBias: boolean;
  /**
   * The activation g · sigmoid(factor · g) · (u + 1), where g and u are the results of the gate and up projections,
   * clamped to `limit`. Null if results are not clamped and the model's `activation` applies.
   */
  readonly clamp: { readonly limit: number; readonly factor: number } | null;
}

export interface AttentionLayer {
  readonly kind: "attention";
  /** Number of positions that a token attends to, including the token's own; null if unlimited. */
  readonly slidingWindow: number | null;
  /**
   * Index into {@link ModelConfig.rotaries}; null if the layer has no rotary embedding. Without a rotary embedding,
   * only the causal order of attention encodes positions.
   */
  readonly rotary: number | null;
  /** Index of a separate rotary embedding for queries; absent if queries use the same one as keys (`rotary`). */
  readonly queryRotary?: number;
  /** Number and size of the layer's key-value heads; absent if they equal the model's. */
  readonly heads?: CacheShape;
  /** Earlier layer whose keys and values this layer attends to; absent if the layer computes its own. */
  readonly keysFrom?: number;
  /** True if the projection of keys also gives the values. */
  readonly hasSharedValues?: boolean;
  /** Width of the feed-forward part; absent if it equals the model's `intermediateSize`. */
  readonly intermediateSize?: number;
  /** True if the layer adds its part of the additional embedding ({@link LayerEmbedding}) to the residual stream. */
  readonly hasLayerEmbedding?: boolean;
}

/** Number and size of the key-value heads that a layer caches for each position. */
export interface CacheShape {
  readonly kvHeadCount: number;
  readonly headSize: number;
}

/** Additional embedding that has a separate part for each layer (Gemma 4). */
export interface LayerEmbedding {
  /** Width of each layer's part of the embedding. */
  readonly size: number;
  /** Number of rows of the additional embedding, at least the size of the vocabulary. */
  readonly rowCount: number;
}

/** A gated short convolution (LFM2): C · conv(B · x), where B, C and x are projections of the layer's input. */
export interface ConvolutionLayer {
  readonly kind: "convolution";
}

/**
 * A gated delta rule (Qwen3.5; arXiv:2412.06464). Each head keeps a matrix as its state. For each token, the head reads
 * a value from the matrix, and corrects the matrix where that value differs from the token's own.
 */
export interface DeltaLayer {
  readonly kind: "delta";
}

/**
 * A selective state space (Mamba-2; arXiv:2405.21060). Each head has a matrix as its state, which decays at each token
 * before the token is added.
 */
export interface MambaLayer {
  readonly kind: "mamba";
}

/** A feed-forward part as a layer of its own. */
export interface FeedForwardLayer {
  readonly kind: "feed-forward";
}

/** Dimensions of layers with a delta rule. */
export interface DeltaConfig {
  /** Number of heads of queries and keys; divides `valueHeads`. */
  readonly keyHeads: number;
  /** Number of heads of values; each head has its own state matrix. */
  readonly valueHeads: number;
  readonly keySize: number;
  readonly valueSize: number;
}

/** Dimensions and options of layers with Mamba-2. */
export interface MambaConfig {
  /**
   * Number of groups of heads; divides `heads`. All heads of a group write to their states, and read from them, with
   * the same vectors.
   */
  readonly groups: number;
  readonly heads: number;
  readonly headSize: number;
  /** Number of rows of a head's state matrix. */
  readonly stateSize: number;
  readonly hasProjectionBias: boolean;
  /**
   * Lower limit of a token's step size, which determines how much the token decays the state; `stepMax` is the upper
   * limit.
   */
  readonly stepMin: number;
  readonly stepMax: number;
}

/** A causal convolution over positions; each channel has its own kernel. */
export interface ConvolutionConfig {
  /** Number of positions that an output depends on, including the output's own position. */
  readonly kernelSize: number;
  /** True if the convolution has a bias; in LFM2, the layer's projections then have biases too. */
  readonly hasBias: boolean;
}

export interface ModelConfig {
  readonly architecture: Architecture;
  /** True if the model is the text part of a multimodal model, whose modules have other names in adapters. */
  readonly isTextPart: boolean;
  readonly vocabularySize: number;
  readonly width: number;
  readonly intermediateSize: number;
  readonly headCount: number;
  /** Number of key-value heads; divides `headCount`. */
  readonly kvHeadCount: number;
  /** Size of a head; may differ from width / headCount. */
  readonly headSize: number;
  /**
   * Number of leading dimensions of each head that the rotary embedding rotates; an even number. The other dimensions
   * are unchanged.
   */
  readonly rotarySize: number;
  /** Maximum number of tokens in prompt and answer together. */
  readonly contextLength: number;
  readonly layers: readonly LayerConfig[];
  /** Rotary embeddings that the layers use; layers with equal embeddings share an entry. */
  readonly rotaries: readonly RotaryConfig[];
  readonly normEpsilon: number;
  /** True if files store each norm weight minus one (Gemma). */
  readonly isNormOffset: boolean;
  /** True if the inputs of attention and feed-forward are normalised. */
  readonly hasInputNorms: boolean;
  /** True if the outputs of attention and feed-forward are normalised. */
  readonly hasOutputNorms: boolean;
  /**
   * Normalisation of queries and keys before the rotary embedding: none, each head separately, or all heads together.
   */
  readonly queryKeyNorm: "none" | "each-head" | "all-heads";
  /** True if each head of values is normalised, without a weight. */
  readonly hasValueNorm: boolean;
  readonly hasQueryKeyValueBias: boolean;
  readonly hasOutputBias: boolean;
  /** True if the projections of dense feed-forward parts have biases. */
  readonly hasFeedForwardBias: boolean;
  /** Convolution settings; null if no layer has a convolution. */
  readonly convolution: ConvolutionConfig | null;
  /** Delta rule settings; null if no layer has a delta rule. */
  readonly delta: DeltaConfig | null;
  /** Experts that some layers have; null if no layer has any. */
  readonly experts: ExpertsConfig | null;
  /** Mamba-2 settings; null if no layer has Mamba-2. */
  readonly mamba: MambaConfig | null;
  /**
   * True if each head has a sink: an additional score in the softmax, without a value, which takes part of the
   * probability.
   */
  readonly hasSinks: boolean;
  /** True if the query projection has a second half for each head, which gates the head's attended values. */
  readonly hasAttentionGate: boolean;
  /** Additional embedding with a part for each layer; null if the model has none. */
  readonly layerEmbedding: LayerEmbedding | null;
  /** True if the result of each layer is multiplied by a number that the model's files store. */
  readonly hasLayerScales: boolean;
  /** Activation of the feed-forward part; `relu-squared` is max(x, 0)². */
  readonly activation: "silu" | "gelu-tanh" | "relu-squared";
  /** True if the feed-forward part multiplies its activated projection by a second projection. */
  readonly hasFeedForwardGate: boolean;
  /** True if the output projection uses the same weight as the embedding. */
  readonly isTied: boolean;
  /** Factor by which the embeddings are multiplied. */
  readonly embeddingScale: number;
  /** Factor by which the attention scores are multiplied. */
  readonly attentionScale: number;
  /**
   * Factor by which the outputs of attention and feed-forward are multiplied before they are added to the residual
   * stream.
   */
  readonly residualScale: number;
  /** Factor by which the logits are multiplied. */
  readonly logitScale: number;
  /** Soft cap of the logits: cap · tanh(logits / cap); null if uncapped. */
  readonly logitCap: number | null;
  /** Ids of end-of-text tokens, from generation_config.json or, if that file names none, from config.json. */
  readonly endOfTextIds: readonly number[];
}

/** Returns the number and size of a layer's key-value heads. */
export function headsOf({ layers, kvHeadCount, headSize }: ModelConfig, layer: number): CacheShape {
  const layerConfig = layers[layer];
  return (layerConfig.kind === "attention" ? layerConfig.heads : undefined) ?? { kvHeadCount, headSize };
}

/** Returns the width of a layer's feed-forward part. */
export function intermediateSizeOf({ layers, intermediateSize }: ModelConfig, layer: number): number {
  const layerConfig = layers[layer];
  return (layerConfig.kind === "attention" ? layerConfig.intermediateSize : undefined) ?? intermediateSize;
}

/** Returns the number of leading dimensions of each head that a rotary embedding rotates. */
export function rotarySizeOf({ rotaries, rotarySize }: ModelConfig, rotary: number): number {
  return rotaries[rotary].size ?? rotarySize;
}

// Differences between model classes: one record per class, with everything that depends only on the class. Defaults
// apply to fields that config.json omits; they equal the defaults of the class in Transformers 5.
import type {
  Architecture,
  ConvolutionConfig,
  DeltaConfig,
  ExpertsConfig,
  LayerEmbedding,
  LayerConfig,
  MambaConfig,
  ModelConfig,
} from "../config.ts";
import type { ConfigReader, JsonObject } from "./config-reader.ts";
import { gemma4Embedding, gemma4Layers, gemma4Rotary, type LayerDetails } from "./gemma4-layers.ts";
import { graniteConvolution, graniteMamba } from "./granite-mamba.ts";
import { nemotronConvolution, nemotronKinds, nemotronMamba } from "./nemotron-mamba.ts";
import { gptOssExperts, gptOssRotary, readExperts, sparseLayers } from "./read-experts.ts";

/** Kind of a layer: attention to all earlier positions or to a window of them, or another kind of `LayerConfig`. */
export type LayerKind =
  | "full_attention"
  | "sliding_attention"
  | "convolution"
  | "delta"
  | "mamba"
  | "feed-forward";

export interface FamilyRule {
  readonly modelType: string;
  /** Default head size; null if the default is the width divided by the number of heads. */
  readonly headSize: number | null;
  /** Default number of key-value heads; null if the default is the number of heads. */
  readonly kvHeadCount: number | null;
  /** Defaults for sizes that some published files omit; null if the sizes are required. */
  readonly usualSizes: {
    readonly vocabulary: number;
    readonly heads: number;
    readonly contextLength: number;
  } | null;
  readonly isTied: boolean;
  readonly queryKeyNorm: ModelConfig["queryKeyNorm"];
  /**
   * True if the config.json field `attention_bias` decides whether attention's projections have biases; false if the
   * class decides it.
   */
  readonly readsAttentionBias: boolean;
  readonly hasQueryKeyValueBias: boolean;
  /**
   * True if the config.json field `mlp_bias` decides whether projections of the feed-forward part have biases; false if
   * the class has no such biases.
   */
  readonly readsFeedForwardBias: boolean;
  /**
   * The config.json field that names the activation, and the default. Older files may use the field `hidden_act`
   * instead, in any family.
   */
  readonly activation: {
    readonly field: "hidden_act" | "hidden_activation" | "mlp_hidden_act";
    readonly fallback: keyof typeof activations;
  };
  readonly isNormOffset: boolean;
  readonly normEpsilon: number;
  readonly hasInputNorms: boolean;
  readonly hasOutputNorms: boolean;
  /** The config.json field with the epsilon that norms add to the mean square. */
  readonly normEpsilonField: "rms_norm_eps" | "norm_eps" | "layer_norm_epsilon";
  /** Reads the width of the feed-forward sublayer. */
  readonly intermediateSize: (reader: ConfigReader) => number;
  /** True if embeddings are multiplied by the square root of the width. */
  readonly scalesEmbeddings: boolean;
  /**
   * Attention scores are divided by the square root of this field, which has a default. Null if they are divided by the
   * square root of the head size instead, and 1 if they are not divided.
   */
  readonly attentionScalar: { readonly field: string; readonly fallback: number } | 1 | null;
  /** True if config.json has factors for embeddings, attention scores, layer outputs and logits. */
  readonly readsMultipliers: boolean;
  /** Returns a predicate that is true for layers that rotate queries and keys by position. */
  readonly rotaryRule: (reader: ConfigReader) => (layer: number) => boolean;
  /** Maps names in the config.json field `layer_types` to kinds of layers; null if the class ignores that field. */
  readonly layerTypes: Readonly<Record<string, LayerKind>> | null;
  /** Returns a function that decides the kind of each layer; used if `layer_types` is absent. */
  readonly kindRule: (reader: ConfigReader) => (layer: number) => LayerKind;
  /** Reads the kinds of all layers from fields that only this class has; null if `layerTypes` and `kindRule` decide. */
  readonly readKinds: ((reader: ConfigReader) => readonly LayerKind[]) | null;
  /** True if each layer has a single part, so that a feed-forward part is a layer by itself (Nemotron-H). */
  readonly hasSingleParts: boolean;
  /** True if counts of experts decide whether the model has experts; false if the kinds of its layers decide. */
  readonly readsExpertCounts: boolean;
  /** True if the class has the field `use_sliding_window`. Layers have sliding windows only if that field is true. */
  readonly hasSlidingSwitch: boolean;
  readonly rotaryTheta: number;
  /** Default of `partial_rotary_factor`, the fraction of each head that is rotated; null if whole heads are rotated. */
  readonly partialRotary: number | null;
  /**
   * Default of `original_max_position_embeddings`, the context length before LongRoPE extended it; null if the default
   * is the whole context length.
   */
  readonly originalContextLength: number | null;
  /**
   * Rotary embedding of layers with a sliding window:
   * * an object: a separate base, which is never scaled, and the field that holds this base in older files
   * * "unscaled": the base of the other layers, without their scaling
   * * null: the base and the scaling of the other layers
   */
  readonly slidingRotary: { readonly field: string; readonly theta: number } | "unscaled" | null;
  /**
   * Default of `rope_parameters`. Null if there is none: defaults then exist only for the older fields that
   * `rope_parameters` replaced.
   */
  readonly usualRotary: JsonObject | null;
  /** True if queries are multiplied by a factor that grows with their position. */
  readonly readsQueryGrowth: boolean;
  /** True if `final_logit_softcapping` bounds the logits. */
  readonly readsLogitCap: boolean;
  /** Reads the convolution settings; null if the class has no convolution layers. */
  readonly convolution: ((reader: ConfigReader) => ConvolutionConfig) | null;
  /** Reads the delta rule settings; null if the class has no delta rule layers. */
  readonly delta: ((reader: ConfigReader) => DeltaConfig) | null;
  /** Reads the Mamba-2 settings; null if the class has no layers with Mamba-2. */
  readonly mamba: ((reader: ConfigReader) => MambaConfig) | null;
  readonly hasAttentionGate: boolean;
  readonly hasValueNorm: boolean;
  readonly hasLayerScales: boolean;
  /** Reads the settings of each layer that differ from the model's; null if layers of the class never differ. */
  readonly layerDetails:
    | ((reader: ConfigReader, kinds: readonly LayerKind[]) => readonly LayerDetails[])
    | null;
  /** Reads the embedding with a part for each layer; null if the class has none. */
  readonly layerEmbedding: ((reader: ConfigReader) => LayerEmbedding | null) | null;
  /** Default of `sliding_window`. */
  readonly usualWindow: number;
  /** Default of `attention_bias`. */
  readonly usualAttentionBias: boolean;
  readonly hasSinks: boolean;
  /** True if weights of experts may be in four bits (MXFP4). */
  readonly readsBlocks: boolean;
  /** Reads the experts; null if layers of the class have none. */
  readonly experts: ((reader: ConfigReader) => ExpertsConfig | null) | null;
  /** Returns a function that says which experts a layer has; only called if the model has experts. */
  readonly expertRule: (reader: ConfigReader) => (layer: number) => LayerConfig["experts"];
  readonly hasFeedForwardGate: boolean;
}

/** Maps the names of activations in config.json to Hone's names. */
export const activations = {
  silu: "silu",
  gelu_pytorch_tanh: "gelu-tanh",
  relu2: "relu-squared",
} as const satisfies Readonly<Record<string, ModelConfig["activation"]>>;

const always = (): boolean => true;

/** Names of layer kinds in `layer_types`, as most classes use them. */
const attentionTypes = {
  full_attention: "full_attention",
  sliding_attention: "sliding_attention",
} as const satisfies FamilyRule["layerTypes"];

const allFull = (): LayerKind => "full_attention";

/**
 * Returns a rule for {@link FamilyRule.kindRule}: layers for which `slides` is true have a sliding window, all others
 * attend to all positions.
 */
const sliding =
  (slides: (layer: number) => boolean) =>
  (layer: number): LayerKind =>
    slides(layer) ? "sliding_attention" : "full_attention";

const plain: FamilyRule = {
  modelType: "llama",
  headSize: null,
  kvHeadCount: null,
  usualSizes: null,
  isTied: false,
  queryKeyNorm: "none",
  readsAttentionBias: true,
  hasQueryKeyValueBias: false,
  readsFeedForwardBias: false,
  activation: { field: "hidden_act", fallback: "silu" },
  isNormOffset: false,
  normEpsilon: 1e-6,
  hasInputNorms: true,
  hasOutputNorms: false,
  normEpsilonField: "rms_norm_eps",
  intermediateSize: (reader) => reader.count("intermediate_size"),
  scalesEmbeddings: false,
  attentionScalar: null,
  readsMultipliers: false,
  rotaryRule: () => always,
  layerTypes: null,
  kindRule: () => allFull,
  readKinds: null,
  hasSingleParts: false,
  readsExpertCounts: true,
  hasSlidingSwitch: false,
  rotaryTheta: 10_000,
  partialRotary: null,
  originalContextLength: null,
  slidingRotary: null,
  usualRotary: null,
  readsQueryGrowth: false,
  readsLogitCap: false,
  convolution: null,
  delta: null,
  mamba: null,
  hasAttentionGate: false,
  hasValueNorm: false,
  hasLayerScales: false,
  layerDetails: null,
  layerEmbedding: null,
  usualWindow: 4096,
  usualAttentionBias: false,
  hasSinks: false,
  readsBlocks: false,
  experts: null,
  expertRule: () => () => undefined,
  hasFeedForwardGate: true,
};

const qwen = {
  ...plain,
  kvHeadCount: 32,
  layerTypes: attentionTypes,
  kindRule: (reader) => {
    if (!reader.flag("use_sliding_window", false) || reader.get("sliding_window") === null) return allFull;
    const firstSliding = reader.get("max_window_layers") === 0 ? 0 : reader.count("max_window_layers", 28);
    return sliding((layer) => layer >= firstSliding);
  },
  hasSlidingSwitch: true,
} as const satisfies FamilyRule;

const qwen35: FamilyRule = {
  ...plain,
  modelType: "qwen3_5_text",
  headSize: 256,
  kvHeadCount: 4,
  queryKeyNorm: "each-head",
  isNormOffset: true,
  partialRotary: 0.25,
  layerTypes: { full_attention: "full_attention", linear_attention: "delta" },
  kindRule: (reader) => {
    const period = reader.count("full_attention_interval", 4);
    return (layer) => ((layer + 1) % period === 0 ? "full_attention" : "delta");
  },
  convolution: (reader) => ({
    kernelSize: reader.count("linear_conv_kernel_dim", 4, 64),
    hasBias: false,
  }),
  delta: qwenDelta,
  hasAttentionGate: true,
};

export const families: Readonly<Record<Architecture, FamilyRule>> = {
  LlamaForCausalLM: { ...plain, readsFeedForwardBias: true },
  MistralForCausalLM: {
    ...plain,
    modelType: "mistral",
    kvHeadCount: 8,
    readsAttentionBias: false,
    layerTypes: attentionTypes,
    // An absent `sliding_window` means the class's default window; an explicit null turns windows off.
    kindRule: (reader) => sliding(() => reader.get("sliding_window") !== null),
  },
  Qwen2ForCausalLM: { ...qwen, modelType: "qwen2", readsAttentionBias: false, hasQueryKeyValueBias: true },
  Qwen3ForCausalLM: { ...qwen, modelType: "qwen3", headSize: 128, queryKeyNorm: "each-head" },
  Gemma3ForCausalLM: {
    ...plain,
    modelType: "gemma3_text",
    headSize: 256,
    kvHeadCount: 4,
    usualSizes: { vocabulary: 262_208, heads: 8, contextLength: 131_072 },
    isTied: true,
    queryKeyNorm: "each-head",
    activation: { field: "hidden_activation", fallback: "gelu_pytorch_tanh" },
    isNormOffset: true,
    hasOutputNorms: true,
    scalesEmbeddings: true,
    attentionScalar: { field: "query_pre_attn_scalar", fallback: 256 },
    layerTypes: attentionTypes,
    kindRule: (reader) => {
      const isNewer = reader.get("sliding_window_pattern") !== undefined;
      const period = reader.count(isNewer ? "sliding_window_pattern" : "_sliding_window_pattern", 6);
      return sliding((layer) => (layer + 1) % period !== 0);
    },
    rotaryTheta: 1_000_000,
    // Rotary scaling applies only to layers with full attention.
    slidingRotary: { field: "rope_local_base_freq", theta: 10_000 },
    readsLogitCap: true,
  },
  GraniteForCausalLM: {
    ...plain,
    modelType: "granite",
    readsFeedForwardBias: true,
    readsMultipliers: true,
  },
  SmolLM3ForCausalLM: {
    ...plain,
    modelType: "smollm3",
    readsFeedForwardBias: true,
    kvHeadCount: 4,
    isTied: true,
    rotaryRule: (reader) => {
      const listed = reader.get("no_rope_layers") ?? null;
      const period = reader.count("no_rope_layer_interval", 4);
      if (listed === null) return (layer) => (layer + 1) % period !== 0;
      if (Array.isArray(listed) && listed.every((flag) => flag === 0 || flag === 1)) {
        // Despite the field's name (`no_rope_layers`), a 1 marks a layer with rotary embedding.
        return (layer) => listed[layer] !== 0;
      }
      reader.refuse("no_rope_layers", "a list of 0 and 1 is needed, one for each layer");
      return always;
    },
    layerTypes: attentionTypes,
    // Sliding windows apply only to layers without rotary embedding.
    kindRule: (reader) => {
      if (!reader.flag("use_sliding_window", false) || reader.get("sliding_window") === null) return allFull;
      const rotates = families.SmolLM3ForCausalLM.rotaryRule(reader);
      return sliding((layer) => !rotates(layer));
    },
    hasSlidingSwitch: true,
    rotaryTheta: 2_000_000,
  },
  Olmo2ForCausalLM: {
    ...plain,
    modelType: "olmo2",
    queryKeyNorm: "all-heads",
    normEpsilon: 1e-5,
    hasInputNorms: false,
    hasOutputNorms: true,
  },
  Olmo3ForCausalLM: {
    ...plain,
    modelType: "olmo3",
    queryKeyNorm: "all-heads",
    normEpsilon: 1e-5,
    hasInputNorms: false,
    hasOutputNorms: true,
    layerTypes: attentionTypes,
    kindRule: () => sliding((layer) => (layer + 1) % 4 !== 0),
    slidingRotary: "unscaled",
  },
  Phi3ForCausalLM: {
    ...plain,
    modelType: "phi3",
    readsAttentionBias: false,
    normEpsilon: 1e-5,
    kindRule: (reader) => sliding(() => (reader.get("sliding_window") ?? null) !== null),
    partialRotary: 1,
    originalContextLength: 4096,
  },
  Ministral3ForCausalLM: {
    ...plain,
    modelType: "ministral3",
    headSize: 128,
    kvHeadCount: 8,
    readsAttentionBias: false,
    normEpsilon: 1e-5,
    kindRule: (reader) => sliding(() => (reader.get("sliding_window") ?? null) !== null),
    rotaryTheta: 1_000_000,
    readsQueryGrowth: true,
  },
  // Granite 4. Hone computes only its models without experts.
  GraniteMoeHybridForCausalLM: {
    ...plain,
    modelType: "granitemoehybrid",
    readsMultipliers: true,
    intermediateSize: (reader) => {
      // If the field is absent, the class has eight experts by default, so the model is refused.
      if (reader.get("num_local_experts") === undefined)
        reader.refuse("num_local_experts", "a mixture of experts is not computed; use a dense model");
      return reader.count("shared_intermediate_size", 1024);
    },
    layerTypes: {
      full_attention: "full_attention",
      attention: "full_attention",
      linear_attention: "mamba",
      mamba: "mamba",
    },
    kindRule: () => () => "mamba",
    convolution: graniteConvolution,
    mamba: graniteMamba,
    rotaryRule: (reader) => {
      const isRotary = reader.get("position_embedding_type") === "rope";
      return () => isRotary;
    },
  },
  Lfm2ForCausalLM: {
    ...plain,
    modelType: "lfm2",
    kvHeadCount: 8,
    isTied: true,
    queryKeyNorm: "each-head",
    readsAttentionBias: false,
    normEpsilon: 1e-5,
    normEpsilonField: "norm_eps",
    intermediateSize: lfm2IntermediateSize,
    rotaryTheta: 1_000_000,
    layerTypes: { full_attention: "full_attention", conv: "convolution" },
    kindRule: (reader) => {
      const indices = reader.get("full_attn_idxs") ?? null;
      if (indices === null) return allFull;
      if (Array.isArray(indices) && indices.every((index) => Number.isSafeInteger(index)))
        return (layer) => (indices.includes(layer) ? "full_attention" : "convolution");
      reader.refuse("full_attn_idxs", "a list of layer numbers is needed");
      return allFull;
    },
    convolution: (reader) => ({
      kernelSize: reader.count("conv_L_cache", 3, 64),
      hasBias: reader.flag("conv_bias", false),
    }),
  },
  Qwen3_5ForCausalLM: qwen35,
  Qwen3MoeForCausalLM: {
    ...qwen,
    modelType: "qwen3_moe",
    layerTypes: null,
    kindRule: (reader) =>
      sliding(() => reader.flag("use_sliding_window", false) && reader.get("sliding_window") !== null),
    headSize: null,
    kvHeadCount: 4,
    queryKeyNorm: "each-head",
    experts: (reader) => readExperts(reader, { count: 128, active: 8, width: 768, isNormalized: false }),
    expertRule: sparseLayers,
  },
  GptOssForCausalLM: {
    ...plain,
    modelType: "gpt_oss",
    headSize: 64,
    kvHeadCount: 8,
    usualAttentionBias: true,
    normEpsilon: 1e-5,
    intermediateSize: (reader) => reader.count("intermediate_size", 2880),
    layerTypes: attentionTypes,
    kindRule: () => sliding((layer) => layer % 2 === 0),
    usualWindow: 128,
    rotaryTheta: 150_000,
    usualRotary: gptOssRotary,
    hasSinks: true,
    readsBlocks: true,
    experts: gptOssExperts,
    expertRule: () => () => "routed",
  },
  Qwen3_5MoeForCausalLM: {
    ...qwen35,
    modelType: "qwen3_5_moe_text",
    kvHeadCount: 2,
    intermediateSize: (reader) => reader.count("shared_expert_intermediate_size", 512),
    experts: (reader) => readExperts(reader, { count: 256, active: 8, width: 512, isNormalized: null }),
    expertRule: () => () => "routed-and-shared",
  },
  Gemma4ForCausalLM: {
    ...plain,
    modelType: "gemma4_text",
    headSize: 256,
    kvHeadCount: 4,
    usualSizes: { vocabulary: 262_144, heads: 8, contextLength: 131_072 },
    isTied: true,
    queryKeyNorm: "each-head",
    activation: { field: "hidden_activation", fallback: "gelu_pytorch_tanh" },
    hasOutputNorms: true,
    scalesEmbeddings: true,
    attentionScalar: 1,
    layerTypes: attentionTypes,
    kindRule: () => sliding((layer) => (layer + 1) % 6 !== 0),
    slidingRotary: { field: "rope_local_base_freq", theta: 10_000 },
    usualRotary: gemma4Rotary,
    rotaryTheta: 1_000_000,
    readsLogitCap: true,
    hasValueNorm: true,
    hasLayerScales: true,
    layerDetails: gemma4Layers,
    layerEmbedding: gemma4Embedding,
  },
  NemotronHForCausalLM: {
    ...plain,
    modelType: "nemotron_h",
    headSize: 128,
    kvHeadCount: 8,
    readsAttentionBias: false,
    readsFeedForwardBias: true,
    activation: { field: "mlp_hidden_act", fallback: "relu2" },
    normEpsilon: 1e-5,
    normEpsilonField: "layer_norm_epsilon",
    rotaryRule: () => () => false,
    readKinds: nemotronKinds,
    hasSingleParts: true,
    readsExpertCounts: false,
    convolution: nemotronConvolution,
    mamba: nemotronMamba,
    hasFeedForwardGate: false,
  },
};

function qwenDelta(reader: ConfigReader): DeltaConfig {
  const keyHeads = reader.count("linear_num_key_heads", 16);
  const valueHeads = reader.count("linear_num_value_heads", 32);
  if (valueHeads % keyHeads !== 0)
    reader.refuse("linear_num_value_heads", `${keyHeads} heads of keys cannot be shared evenly`);
  return {
    keyHeads,
    valueHeads,
    keySize: reader.count("linear_key_head_dim", 128),
    valueSize: reader.count("linear_value_head_dim", 128),
  };
}

/**
 * Reads the width of LFM2's feed-forward sublayer. Files may store a width that the class reduces to two thirds,
 * multiplies and rounds up; this function then does the same.
 */
function lfm2IntermediateSize(reader: ConfigReader): number {
  const written = reader.count(
    reader.get("block_ff_dim") === undefined ? "intermediate_size" : "block_ff_dim",
    12_288,
  );
  if (!reader.flag("block_auto_adjust_ff_dim", true)) return written;
  const adjusted = Math.floor((2 * written) / 3);
  if (reader.get("block_ffn_dim_multiplier") === null) return adjusted;
  const multiple = reader.count("block_multiple_of", 256);
  return multiple * Math.ceil(Math.floor(reader.number("block_ffn_dim_multiplier", 1) * adjusted) / multiple);
}

// Maps the names of models, sizes and tensors in GGUF files to the Hugging Face layout. Source: the names in llama.cpp
// (gguf-py's constants), and the reorderings of its converters.
import { isPlainType, type StoredTensor, type TiledHeads } from "../stored-tensor.ts";
import { checkArchitectureKeys } from "./architecture-keys.ts";
import { bareMambaParts, mambaKeys, mambaParts, mambaSizes, mambaTensor } from "./mamba-layers.ts";
import { gemma4Fields, gemma4Keys, gemma4LayerParts, gemma4OuterParts } from "./gemma4-fields.ts";
import type { GgufFile } from "./gguf-file.ts";
import { usedTokenCount } from "./gguf-tokenizer.ts";
import type { GgufMetadata } from "./metadata.ts";
import { ropeScaling, type RopeScalingFields } from "./rope-scaling.ts";
import { shortestDecimal } from "./shortest-decimal.ts";

interface GgufArchitecture {
  /** Model class in config.json. */
  readonly architecture: string;
  readonly modelType: string;
  /**
   * True if converters store the two rows of a rotary pair next to each other, as llama.cpp's older rotary embedding
   * requires.
   */
  readonly hasPairedRows: boolean;
  /**
   * True if the file stores each norm weight as a factor, while the Hugging Face layout stores the factor minus one.
   */
  readonly hasWholeNorms: boolean;
  /**
   * Maps parts of tensor names in the file, between `blk.0.` and `.weight`, to the corresponding parts in the Hugging
   * Face layout.
   */
  readonly layerParts: Readonly<Record<string, string>>;
  /**
   * Maps names of tensors outside the layers, without the ending `.weight`, to their names in the Hugging Face layout.
   */
  readonly outerParts: Readonly<Record<string, string>>;
  /** Tensors with factors for the rotary embedding, which become numbers in config.json. */
  readonly ropeTensors: readonly string[];
  /** True if Hone reads the keys `rope.scaling.yarn_*`; if false, these keys must have their default values. */
  readonly readsYarnSettings: boolean;
  /** Keys that only this architecture reads, without the architecture's name. */
  readonly ownKeys: readonly string[];
  /** Returns additional members of `rope_scaling` in config.json. */
  readonly ropeFields: (metadata: GgufMetadata, prefix: string) => Readonly<Record<string, unknown>>;
  /** Returns the number of key-value heads of the layers with attention; null if the file does not say. */
  readonly kvHeadCount: (metadata: GgufMetadata, prefix: string) => number | null;
  /** Returns fields of config.json that only this architecture has. */
  readonly fields: (
    metadata: GgufMetadata,
    prefix: string,
    tensors: GgufFile["tensors"],
  ) => Readonly<Record<string, unknown>>;
  /**
   * True if {@link fields} also returns the width of the feed-forward part and the rotary embeddings. If false, the
   * code for all architectures derives them.
   */
  readonly hasOwnSizes: boolean;
  /**
   * Maps the parts of tensor names in the file, after `blk.0.`, to Hugging Face names that do not end with `weight` or
   * `bias`.
   */
  readonly bareParts: Readonly<Record<string, string>>;
}

const layerParts: Readonly<Record<string, string>> = {
  attn_norm: "input_layernorm",
  attn_q: "self_attn.q_proj",
  attn_k: "self_attn.k_proj",
  attn_v: "self_attn.v_proj",
  attn_output: "self_attn.o_proj",
  attn_q_norm: "self_attn.q_norm",
  attn_k_norm: "self_attn.k_norm",
  ffn_norm: "post_attention_layernorm",
  ffn_gate: "mlp.gate_proj",
  ffn_up: "mlp.up_proj",
  ffn_down: "mlp.down_proj",
};

/** Parts of tensor names in models with additional norms after attention and after the feed-forward network. */
const outputNormParts: Readonly<Record<string, string>> = {
  ...layerParts,
  post_attention_norm: "post_attention_layernorm",
  ffn_norm: "pre_feedforward_layernorm",
  post_ffw_norm: "post_feedforward_layernorm",
};

/** Parts of tensor names in models with fused projections. */
const fusedParts: Readonly<Record<string, string>> = {
  ...layerParts,
  attn_qkv: "self_attn.qkv_proj",
  ffn_up: "mlp.gate_up_proj",
};

/** Names of LFM2's tensors. */
const convolutionParts: Readonly<Record<string, string>> = {
  attn_norm: "operator_norm",
  attn_q: "self_attn.q_proj",
  attn_k: "self_attn.k_proj",
  attn_v: "self_attn.v_proj",
  attn_output: "self_attn.out_proj",
  attn_q_norm: "self_attn.q_layernorm",
  attn_k_norm: "self_attn.k_layernorm",
  "shortconv.conv": "conv.conv",
  "shortconv.in_proj": "conv.in_proj",
  "shortconv.out_proj": "conv.out_proj",
  ffn_norm: "ffn_norm",
  ffn_gate: "feed_forward.w1",
  ffn_up: "feed_forward.w3",
  ffn_down: "feed_forward.w2",
};

/** Parts of tensor names in files of Qwen3.5. */
const deltaParts: Readonly<Record<string, string>> = {
  ...layerParts,
  post_attention_norm: "post_attention_layernorm",
  attn_qkv: "linear_attn.in_proj_qkv",
  attn_gate: "linear_attn.in_proj_z",
  ssm_beta: "linear_attn.in_proj_b",
  ssm_alpha: "linear_attn.in_proj_a",
  ssm_conv1d: "linear_attn.conv1d",
  ssm_norm: "linear_attn.norm",
  ssm_out: "linear_attn.out_proj",
};

/** Names of tensors of routed experts. */
const expertParts: Readonly<Record<string, string>> = {
  ffn_gate_inp: "mlp.gate",
  ffn_gate_exps: "mlp.experts.gate_proj",
  ffn_up_exps: "mlp.experts.up_proj",
  ffn_gate_up_exps: "mlp.experts.gate_up_proj",
  ffn_down_exps: "mlp.experts.down_proj",
};

/** Names of gpt-oss's tensors. */
const gptOssParts: Readonly<Record<string, string>> = {
  ...layerParts,
  ...expertParts,
  post_attention_norm: "post_attention_layernorm",
  ffn_gate_inp: "mlp.router",
};

/** Names of Qwen3.5-MoE's tensors. */
const deltaExpertParts: Readonly<Record<string, string>> = {
  ...deltaParts,
  ...expertParts,
  ffn_gate_inp_shexp: "mlp.shared_expert_gate",
  ffn_gate_shexp: "mlp.shared_expert.gate_proj",
  ffn_up_shexp: "mlp.shared_expert.up_proj",
  ffn_down_shexp: "mlp.shared_expert.down_proj",
};

/** Names of Nemotron-H's tensors. */
const nemotronParts: Readonly<Record<string, string>> = {
  attn_norm: "norm",
  attn_q: "mixer.q_proj",
  attn_k: "mixer.k_proj",
  attn_v: "mixer.v_proj",
  attn_output: "mixer.o_proj",
  ffn_up: "mixer.up_proj",
  ffn_down: "mixer.down_proj",
  ...mambaParts("mixer"),
};

const outerParts: Readonly<Record<string, string>> = {
  token_embd: "model.embed_tokens",
  output_norm: "model.norm",
  output: "lm_head",
};

const plain = {
  hasPairedRows: false,
  hasWholeNorms: false,
  layerParts,
  outerParts,
  kvHeadCount: (metadata: GgufMetadata, prefix: string): number | null =>
    metadata.uniform(`${prefix}.attention.head_count_kv`),
  ropeTensors: [],
  readsYarnSettings: false,
  ownKeys: [],
  ropeFields: () => ({}),
  fields: () => ({}),
  hasOwnSizes: false,
  bareParts: {},
} as const;

const longRopeTensors = ["rope_factors_short.weight", "rope_factors_long.weight"] as const;

/** Properties of Llama's files, in which the two rows of a rotary pair are next to each other. */
const paired = {
  ...plain,
  hasPairedRows: true,
  ropeTensors: ["rope_freqs.weight", ...longRopeTensors],
} as const;

const graniteKeys = [
  "embedding_scale",
  "attention.scale",
  "residual_scale",
  "logit_scale",
  "rope.scaling.finetuned",
] as const;

const slidingKeys = ["attention.sliding_window", "attention.sliding_window_pattern"] as const;

const qwen35: GgufArchitecture = {
  ...plain,
  architecture: "Qwen3_5ForCausalLM",
  modelType: "qwen3_5_text",
  hasWholeNorms: true,
  layerParts: deltaParts,
  bareParts: { ssm_a: "linear_attn.A_log", "ssm_dt.bias": "linear_attn.dt_bias" },
  kvHeadCount: (metadata, prefix) => Math.max(...layerKvHeads(metadata, prefix)),
  ownKeys: [
    "ssm.conv_kernel",
    "ssm.state_size",
    "ssm.group_count",
    "ssm.time_step_rank",
    "ssm.inner_size",
    "full_attention_interval",
    "attention.recurrent_layers",
    "rope.dimension_count",
    // Hone does not use these sections of the rotary embedding, because the positions of a text are the same in all of
    // them.
    "rope.dimension_sections",
    "nextn_predict_layers",
  ],
  fields: (metadata, prefix) => ({ ...qwen35Fields(metadata, prefix), ...qwen35Layers(metadata, prefix) }),
};

const expertKeys = ["expert_count", "expert_used_count", "expert_feed_forward_length", "expert_weights_norm"];

/** Architectures by `general.architecture`. */
const architectures: Readonly<Record<string, GgufArchitecture>> = {
  // Mistral's models are also converted under this name.
  llama: { ...paired, architecture: "LlamaForCausalLM", modelType: "llama" },
  mistral3: {
    ...paired,
    architecture: "Ministral3ForCausalLM",
    modelType: "ministral3",
    readsYarnSettings: true,
    ownKeys: ["attention.temperature_scale"],
    ropeFields: ministral3RopeFields,
  },
  qwen2: { ...plain, architecture: "Qwen2ForCausalLM", modelType: "qwen2" },
  qwen3: { ...plain, architecture: "Qwen3ForCausalLM", modelType: "qwen3" },
  granite: {
    ...paired,
    architecture: "GraniteForCausalLM",
    modelType: "granite",
    // Files of Granite 4 without Mamba layers have the sizes of such layers too, and the width of the feed-forward part
    // under the name of a shared expert's width.
    ownKeys: [...graniteKeys, ...mambaKeys, "expert_shared_feed_forward_length"],
    fields: graniteFields,
  },
  // Files of this architecture do not say which layers have no rotary embedding. As in llama.cpp, it is every fourth.
  smollm3: {
    ...plain,
    architecture: "SmolLM3ForCausalLM",
    modelType: "smollm3",
    hasPairedRows: true,
    fields: () => ({ no_rope_layer_interval: 4 }),
  },
  phi3: {
    ...plain,
    architecture: "Phi3ForCausalLM",
    modelType: "phi3",
    layerParts: fusedParts,
    ropeTensors: longRopeTensors,
    ownKeys: ["attention.sliding_window", "rope.dimension_count"],
    fields: phi3Fields,
  },
  olmo2: { ...plain, architecture: "Olmo2ForCausalLM", modelType: "olmo2", layerParts: outputNormParts },
  lfm2: {
    ...plain,
    architecture: "Lfm2ForCausalLM",
    modelType: "lfm2",
    layerParts: convolutionParts,
    // The norm after the last layer: llama.cpp's converter writes it under the name of a norm before the first layer
    // (`token_embd_norm`), as does Hone.
    outerParts: {
      token_embd_norm: "model.embedding_norm",
      ...outerParts,
      output_norm: "model.embedding_norm",
    },
    kvHeadCount: (metadata, prefix) => Math.max(...layerKvHeads(metadata, prefix)),
    ownKeys: ["shortconv.l_cache"],
    fields: lfm2Fields,
  },
  qwen35,
  qwen3moe: {
    ...plain,
    architecture: "Qwen3MoeForCausalLM",
    modelType: "qwen3_moe",
    layerParts: { ...layerParts, ...expertParts },
    ownKeys: expertKeys,
    fields: expertFields,
  },
  "gpt-oss": {
    ...plain,
    architecture: "GptOssForCausalLM",
    modelType: "gpt_oss",
    layerParts: gptOssParts,
    bareParts: { "attn_sinks.weight": "self_attn.sinks" },
    ownKeys: [...expertKeys, ...slidingKeys],
    fields: gptOssFields,
  },
  qwen35moe: {
    ...qwen35,
    architecture: "Qwen3_5MoeForCausalLM",
    modelType: "qwen3_5_moe_text",
    layerParts: deltaExpertParts,
    ownKeys: [...qwen35.ownKeys, ...expertKeys, "expert_shared_feed_forward_length"],
    fields: (metadata, prefix) => ({
      ...qwen35Fields(metadata, prefix),
      ...qwen35Layers(metadata, prefix),
      ...expertFields(metadata, prefix),
      shared_expert_intermediate_size: metadata.number(`${prefix}.expert_shared_feed_forward_length`),
    }),
  },
  granitehybrid: {
    ...paired,
    architecture: "GraniteMoeHybridForCausalLM",
    modelType: "granitemoehybrid",
    layerParts: {
      ...layerParts,
      ffn_gate: "shared_mlp.gate_proj",
      ffn_up: "shared_mlp.up_proj",
      ffn_down: "shared_mlp.output_linear",
      ...mambaParts("mamba"),
    },
    bareParts: bareMambaParts("mamba"),
    kvHeadCount: (metadata, prefix) => Math.max(...layerKvHeads(metadata, prefix)),
    ownKeys: [...graniteKeys, ...mambaKeys, "expert_shared_feed_forward_length"],
    fields: graniteHybridFields,
  },
  nemotron_h: {
    ...plain,
    hasPairedRows: true,
    architecture: "NemotronHForCausalLM",
    modelType: "nemotron_h",
    layerParts: nemotronParts,
    bareParts: bareMambaParts("mixer"),
    outerParts: { ...outerParts, output_norm: "model.norm_f" },
    kvHeadCount: (metadata, prefix) => Math.max(...layerKvHeads(metadata, prefix)),
    ownKeys: mambaKeys,
    hasOwnSizes: true,
    fields: nemotronFields,
  },
  gemma3: {
    ...plain,
    architecture: "Gemma3ForCausalLM",
    modelType: "gemma3_text",
    hasWholeNorms: true,
    layerParts: outputNormParts,
    ownKeys: [...slidingKeys, "rope.freq_base_swa", "final_logit_softcapping"],
    fields: gemma3Fields,
  },
  gemma4: {
    ...plain,
    architecture: "Gemma4ForCausalLM",
    modelType: "gemma4_text",
    layerParts: { ...outputNormParts, ...gemma4LayerParts },
    outerParts: { ...outerParts, ...gemma4OuterParts },
    bareParts: { "layer_output_scale.weight": "layer_scalar" },
    ropeTensors: ["rope_freqs.weight"],
    kvHeadCount: () => null,
    ownKeys: [...slidingKeys, ...gemma4Keys],
    fields: (metadata, prefix, tensors) => {
      const sliding = slidingFields(metadata, prefix, 6);
      return { ...sliding, ...gemma4Fields(metadata, prefix, tensors, sliding.layer_types) };
    },
    hasOwnSizes: true,
  },
};

/** OLMo 3, whose files say `olmo2` but have a sliding window. */
const olmo3: GgufArchitecture = {
  ...plain,
  architecture: "Olmo3ForCausalLM",
  modelType: "olmo3",
  layerParts: outputNormParts,
  ownKeys: slidingKeys,
  fields: (metadata, prefix) => slidingFields(metadata, prefix, 4),
};

/** Supported architectures of GGUF files. */
export const ggufArchitectures: readonly string[] = Object.keys(architectures);

/**
 * Properties of Mistral models whose files give their architecture as `mistral3`, but whose queries are not scaled by
 * position.
 */
const mistral: GgufArchitecture = {
  ...paired,
  architecture: "MistralForCausalLM",
  modelType: "mistral",
  readsYarnSettings: true,
  ownKeys: ["attention.temperature_scale"],
  fields: () => ({ sliding_window: null }),
};

function ministral3RopeFields(metadata: GgufMetadata, prefix: string): Readonly<Record<string, unknown>> {
  const beta = metadata.number(`${prefix}.attention.temperature_scale`) ?? 0;
  return {
    llama_4_scaling_beta: shortestDecimal(beta),
    original_max_position_embeddings:
      metadata.number(`${prefix}.rope.scaling.original_context_length`) ??
      metadata.number(`${prefix}.context_length`),
  };
}

function graniteFields(metadata: GgufMetadata, prefix: string): Readonly<Record<string, unknown>> {
  if (metadata.flag(`${prefix}.rope.scaling.finetuned`) === false) {
    throw metadata.refused(
      `${prefix}.rope.scaling.finetuned`,
      "a model of this architecture without a rotary embedding is not computed",
    );
  }
  const width = metadata.number(`${prefix}.expert_shared_feed_forward_length`);
  return { ...graniteFactors(metadata, prefix), ...(width !== null && { intermediate_size: width }) };
}

/**
 * Returns the config.json fields of Granite 4 with Mamba layers. Its attention heads usually have no rotary embedding.
 */
function graniteHybridFields(metadata: GgufMetadata, prefix: string): Readonly<Record<string, unknown>> {
  const { kernelSize, stateSize, groups, heads, headSize } = mambaSizes(metadata, prefix);
  const width = metadata.number(`${prefix}.embedding_length`) ?? 1;
  // llama.cpp applies a rotary embedding unless the file turns it off.
  const isRotary = metadata.flag(`${prefix}.rope.scaling.finetuned`) !== false;
  return {
    ...graniteFactors(metadata, prefix),
    num_local_experts: 0,
    shared_intermediate_size:
      metadata.number(`${prefix}.expert_shared_feed_forward_length`) ??
      metadata.uniform(`${prefix}.feed_forward_length`),
    layer_types: layerKvHeads(metadata, prefix).map((count) => (count === 0 ? "mamba" : "attention")),
    position_embedding_type: isRotary ? "rope" : null,
    mamba_d_conv: kernelSize,
    mamba_d_state: stateSize,
    mamba_n_groups: groups,
    mamba_n_heads: heads,
    mamba_d_head: headSize,
    mamba_expand: (heads * headSize) / width,
  };
}

/**
 * Returns the config.json fields of Nemotron-H. The numbers of key-value heads and the feed-forward widths determine
 * the kinds of its layers.
 */
function nemotronFields(
  metadata: GgufMetadata,
  prefix: string,
  tensors: GgufFile["tensors"],
): Readonly<Record<string, unknown>> {
  const { kernelSize, stateSize, groups, heads, headSize } = mambaSizes(metadata, prefix);
  const kvHeads = layerKvHeads(metadata, prefix);
  // The width is 0 for layers without a feed-forward part.
  const widths = metadata.numbers(`${prefix}.feed_forward_length`) ?? [];
  const epsilonKey = `${prefix}.attention.layer_norm_rms_epsilon`;
  return {
    layers_block_type: kvHeads.map((count, layer) =>
      count > 0 ? "attention" : (widths[layer] ?? 0) > 0 ? "mlp" : "mamba",
    ),
    intermediate_size: Math.max(1, ...widths),
    tie_embedding: !tensors.has("output.weight"),
    layer_norm_epsilon: shortestDecimal(metadata.needed(epsilonKey, metadata.number(epsilonKey))),
    conv_kernel: kernelSize,
    ssm_state_size: stateSize,
    n_groups: groups,
    mamba_num_heads: heads,
    mamba_head_dim: headSize,
    // llama.cpp does not limit the step sizes of Mamba-2.
    time_step_min: 0,
  };
}

function graniteFactors(metadata: GgufMetadata, prefix: string): Readonly<Record<string, unknown>> {
  // An absent key and a value of 0 both mean the default value.
  const written = (name: string, usual: number): number => {
    const value = metadata.number(`${prefix}.${name}`) ?? 0;
    return value === 0 ? usual : shortestDecimal(value);
  };
  const [width, heads] = [metadata.number(`${prefix}.embedding_length`), headCount(metadata, prefix)];
  const headSize = metadata.number(`${prefix}.attention.key_length`) ?? (width ?? 1) / heads;
  return {
    embedding_multiplier: written("embedding_scale", 1),
    attention_multiplier: written("attention.scale", 1 / Math.sqrt(headSize)),
    residual_multiplier: written("residual_scale", 1),
    logits_scaling: written("logit_scale", 1),
  };
}

function phi3Fields(metadata: GgufMetadata, prefix: string): Readonly<Record<string, unknown>> {
  const number = (name: string): number | null => metadata.number(`${prefix}.${name}`);
  const width = number("embedding_length") ?? 0;
  const headSize = number("attention.key_length") ?? width / headCount(metadata, prefix);
  const original = number("rope.scaling.original_context_length") ?? number("context_length");
  return {
    partial_rotary_factor: (number("rope.dimension_count") ?? headSize) / headSize,
    original_max_position_embeddings: original,
    // Converters write 0 if the model has no window.
    sliding_window: number("attention.sliding_window") || null,
  };
}

/** Returns the number of key-value heads of each layer; 0 for layers without attention. */
function layerKvHeads(metadata: GgufMetadata, prefix: string): readonly number[] {
  const key = `${prefix}.attention.head_count_kv`;
  const value = metadata.needed(key, metadata.value(key));
  const count = metadata.needed(`${prefix}.block_count`, metadata.number(`${prefix}.block_count`));
  if (!Array.isArray(value)) return Array<number>(Math.min(count, layersMax)).fill(metadata.number(key) ?? 0);
  const heads = metadata.numbers(key) ?? [];
  const [most] = heads.toSorted((one, other) => other - one);
  if (most === 0) {
    throw metadata.refused(
      key,
      "no layer has attention, because the converter did not know the kinds of the layers; convert the model again with the release of Transformers that the converter requires",
    );
  }
  if (heads.length === count && most > 0 && heads.every((each) => each === 0 || each === most)) return heads;
  throw metadata.refused(key, `${count} entries are needed, one for each layer, each 0 or the same number`);
}

function lfm2Fields(metadata: GgufMetadata, prefix: string): Readonly<Record<string, unknown>> {
  const key = `${prefix}.attention.layer_norm_rms_epsilon`;
  return {
    norm_eps: shortestDecimal(metadata.needed(key, metadata.number(key))),
    block_auto_adjust_ff_dim: false,
    conv_L_cache: metadata.number(`${prefix}.shortconv.l_cache`) ?? 3,
    layer_types: layerKvHeads(metadata, prefix).map((heads) => (heads === 0 ? "conv" : "full_attention")),
  };
}

/** Returns the dimensions of Qwen3.5's delta rules, as fields of config.json. */
function qwen35Fields(metadata: GgufMetadata, prefix: string): Readonly<Record<string, number>> {
  const needed = (name: string): number =>
    metadata.needed(`${prefix}.${name}`, metadata.number(`${prefix}.${name}`));
  const valueHeads = needed("ssm.time_step_rank");
  const headSize = needed("attention.key_length");
  return {
    linear_conv_kernel_dim: needed("ssm.conv_kernel"),
    linear_key_head_dim: needed("ssm.state_size"),
    linear_num_key_heads: needed("ssm.group_count"),
    linear_num_value_heads: valueHeads,
    linear_value_head_dim: needed("ssm.inner_size") / valueHeads,
    full_attention_interval: metadata.number(`${prefix}.full_attention_interval`) ?? 4,
    partial_rotary_factor: needed("rope.dimension_count") / headSize,
  };
}

/** Returns Qwen3.5's kinds of layers, which newer files list by a flag for each layer. */
function qwen35Layers(metadata: GgufMetadata, prefix: string): Readonly<Record<string, unknown>> {
  const recurrent = metadata.value(`${prefix}.attention.recurrent_layers`);
  if (!Array.isArray(recurrent)) return {};
  // Layers at the end that predict further tokens have flags too.
  const kinds = recurrent
    .slice(0, layerCount(metadata, prefix))
    .map((flag) => (flag === true ? "linear_attention" : "full_attention"));
  return { layer_types: kinds };
}

/**
 * Returns the config.json fields of routed experts. llama.cpp normalizes the factors of a token's experts to a sum of
 * 1.
 */
function expertFields(metadata: GgufMetadata, prefix: string): Readonly<Record<string, unknown>> {
  const needed = (name: string): number =>
    metadata.needed(`${prefix}.${name}`, metadata.number(`${prefix}.${name}`));
  return {
    num_experts: needed("expert_count"),
    num_experts_per_tok: needed("expert_used_count"),
    moe_intermediate_size: needed("expert_feed_forward_length"),
    norm_topk_prob: metadata.flag(`${prefix}.expert_weights_norm`) ?? true,
  };
}

function gptOssFields(metadata: GgufMetadata, prefix: string): Readonly<Record<string, unknown>> {
  const { num_experts: count, moe_intermediate_size: size, ...others } = expertFields(metadata, prefix);
  return {
    ...others,
    ...slidingFields(metadata, prefix, 2),
    num_local_experts: count,
    intermediate_size: size,
  };
}

/** Returns the number of layers, not counting the layers at the end that predict further tokens. */
function layerCount(metadata: GgufMetadata, prefix: string): number {
  const count = metadata.needed(`${prefix}.block_count`, metadata.uniform(`${prefix}.block_count`));
  return count - (metadata.number(`${prefix}.nextn_predict_layers`) ?? 0);
}

/**
 * Returns how llama.cpp's converter rearranged a tensor of a delta rule: the first value head of each key head, then
 * the second value head of each, and so on. Returns null if the converter changed nothing.
 *
 * @param part end of the tensor's Hugging Face name after `linear_attn.`, such as `out_proj.weight`
 */
function tiledHeads(part: string, metadata: GgufMetadata, prefix: string): TiledHeads | null {
  const sizes = qwen35Fields(metadata, prefix);
  const { linear_num_key_heads: keyHeads, linear_num_value_heads: valueHeads } = sizes;
  const valueSize = sizes["linear_value_head_dim"];
  const tiled = (first: number, headSize: number, axis: TiledHeads["axis"] = "rows"): TiledHeads | null =>
    keyHeads === valueHeads ? null : { kind: "tiled-heads", axis, first, headSize, keyHeads, valueHeads };
  switch (part) {
    case "in_proj_qkv.weight":
    case "conv1d.weight":
      return tiled(2 * keyHeads * sizes["linear_key_head_dim"], valueSize);
    case "in_proj_z.weight":
      return tiled(0, valueSize);
    case "in_proj_a.weight":
    case "in_proj_b.weight":
    case "dt_bias":
      return tiled(0, 1);
    case "out_proj.weight":
      return tiled(0, valueSize, "columns");
    case "A_log":
      return {
        kind: "tiled-heads",
        axis: "rows",
        first: 0,
        headSize: 1,
        keyHeads,
        valueHeads,
        isNegatedPower: true,
      };
    default:
      return null;
  }
}

/**
 * Number of layers of Gemma 3 27B, the only Gemma 3 that scales attention scores by width / heads. llama.cpp detects
 * this model in the same way.
 */
const gemma3LargestLayers = 62;

function gemma3Fields(metadata: GgufMetadata, prefix: string): Readonly<Record<string, unknown>> {
  const width = metadata.number(`${prefix}.embedding_length`) ?? 0;
  const heads = headCount(metadata, prefix);
  const headSize = metadata.number(`${prefix}.attention.key_length`) ?? width / heads;
  const isLargest = metadata.number(`${prefix}.block_count`) === gemma3LargestLayers;
  return {
    hidden_activation: "gelu_pytorch_tanh",
    query_pre_attn_scalar: isLargest ? Math.floor(width / heads) : headSize,
    final_logit_softcapping: metadata.number(`${prefix}.final_logit_softcapping`) || null,
    rope_local_base_freq: metadata.number(`${prefix}.rope.freq_base_swa`) ?? 10_000,
    ...slidingFields(metadata, prefix, 6),
  };
}

/**
 * Returns the type of each layer (sliding window or full attention), and the window's size.
 *
 * @param usualPeriod number of layers per period if the file has none; all layers of a period but the last have a
 *   window
 */
function slidingFields(
  metadata: GgufMetadata,
  prefix: string,
  usualPeriod: number,
): { readonly sliding_window: number | null; readonly layer_types: readonly string[] } {
  const count = metadata.needed(`${prefix}.block_count`, metadata.number(`${prefix}.block_count`));
  const window = metadata.number(`${prefix}.attention.sliding_window`) || null;
  const slides = window === null ? () => false : slidingRule(metadata, prefix, usualPeriod);
  return {
    sliding_window: window,
    layer_types: Array.from({ length: Math.min(count, layersMax) }, (_, layer) =>
      slides(layer) ? "sliding_attention" : "full_attention",
    ),
  };
}

/**
 * Returns a function that is true for layers with a sliding window. The file has a list of flags, or a period: the last
 * layer of each period has no window. With a period of 0, all layers have one.
 */
function slidingRule(
  metadata: GgufMetadata,
  prefix: string,
  usualPeriod: number,
): (layer: number) => boolean {
  const key = `${prefix}.attention.sliding_window_pattern`;
  const written = metadata.value(key);
  if (Array.isArray(written)) {
    const count = metadata.number(`${prefix}.block_count`);
    if (written.length !== count)
      throw metadata.refused(key, `${count} entries are needed, one for each layer`);
    const flags = written.map((flag) => flag === true || flag === 1);
    return (layer) => flags[layer];
  }
  const period = metadata.number(key) ?? usualPeriod;
  return (layer) => period === 0 || layer % period < period - 1;
}

function headCount(metadata: GgufMetadata, prefix: string): number {
  const key = `${prefix}.attention.head_count`;
  return metadata.needed(key, metadata.uniform(key));
}

/**
 * Maximum number of layers, more than any model has. It limits a list with an entry per layer, which is created before
 * any tensor is read.
 */
const layersMax = 10_000;

/** Model classes whose config.json says which projections have biases. In every other class, this is fixed. */
const readsAttentionBias: ReadonlySet<string> = new Set([
  "LlamaForCausalLM",
  "Qwen3ForCausalLM",
  "Qwen3MoeForCausalLM",
  "GptOssForCausalLM",
  "Gemma3ForCausalLM",
  "GraniteForCausalLM",
  "SmolLM3ForCausalLM",
  "Olmo2ForCausalLM",
  "Olmo3ForCausalLM",
]);

/** Model classes whose feed-forward part has biases in some files. */
const readsFeedForwardBias: ReadonlySet<string> = new Set([
  "LlamaForCausalLM",
  "GraniteForCausalLM",
  "NemotronHForCausalLM",
]);

/**
 * Returns the equivalent of the model's config.json.
 *
 * @throws ServiceError `unsupported` for an unknown architecture, missing metadata, and a key with an unknown effect
 * on results
 */
export function ggufConfig({ tensors }: GgufFile, metadata: GgufMetadata): Readonly<Record<string, unknown>> {
  const { prefix, known } = architectureOf(metadata);
  const number = (name: string): number | null => metadata.number(`${prefix}.${name}`);
  const uniform = (name: string): number | null => metadata.uniform(`${prefix}.${name}`);
  const needed = (name: string): number => metadata.needed(`${prefix}.${name}`, uniform(name));
  const [width, heads] = [needed("embedding_length"), headCount(metadata, prefix)];
  const [contextLength, normEpsilon] = [needed("context_length"), needed("attention.layer_norm_rms_epsilon")];
  const headSize = number("attention.key_length") ?? width / heads;
  const rotaryBase = number("rope.freq_base") ?? 10_000;
  const rotarySize =
    (known.ownKeys.includes("rope.dimension_count") && number("rope.dimension_count")) || headSize;
  const tensorLayout = known.hasPairedRows ? "Meta AI original pth" : "reference";
  checkArchitectureKeys(metadata, prefix, {
    own: known.ownKeys,
    context: { headSize, contextLength, rotaryBase, normEpsilon, tensorLayout },
  });
  const embedding = metadata.needed("token_embd.weight", tensors.get("token_embd.weight") ?? null);
  checkVocabulary(metadata, embedding);
  checkBlockVersion(metadata, tensors);
  const { readsYarnSettings } = known;
  const scaling = { metadata, architecture: prefix, contextLength, rotarySize, readsYarnSettings };
  const result = {
    architectures: [known.architecture],
    model_type: known.modelType,
    vocab_size: embedding.shape[0],
    hidden_size: width,
    ...(!known.hasOwnSizes && {
      intermediate_size: uniform("feed_forward_length") ?? needed(feedForwardKey(known)),
    }),
    num_hidden_layers: layerCount(metadata, prefix),
    num_attention_heads: heads,
    num_key_value_heads: known.kvHeadCount(metadata, prefix) ?? heads,
    head_dim: headSize,
    max_position_embeddings: contextLength,
    rms_norm_eps: shortestDecimal(normEpsilon),
    tie_word_embeddings: !tensors.has("output.weight"),
    rope_theta: shortestDecimal(rotaryBase),
    ...biasFields(tensors, known),
    ...(!known.hasOwnSizes &&
      withRopeFields(
        ropeScaling({ ...scaling, tensors: onlyRopeTensors(tensors, known) }),
        known.ropeFields(metadata, prefix),
      )),
    ...known.fields(metadata, prefix, tensors),
    ...tokenIds(metadata),
    torch_dtype: "float32",
  };
  if (known.architecture === "Gemma3ForCausalLM") refuseScaledMagnitude(metadata, prefix);
  return result;
}

/**
 * Returns the key that contains the width of the feed-forward part. Files whose layers all have experts may have only
 * the key with the experts' width.
 */
function feedForwardKey({ ownKeys }: GgufArchitecture): string {
  const [own] = expertKeys.slice(2);
  return ownKeys.includes(own) ? own : "feed_forward_length";
}

function withRopeFields(
  { rope_scaling: scaling }: RopeScalingFields,
  others: Readonly<Record<string, unknown>>,
): RopeScalingFields {
  if (Object.keys(others).length === 0) return scaling === undefined ? {} : { rope_scaling: scaling };
  return { rope_scaling: { rope_type: "default", ...scaling, ...others } };
}

/**
 * Checks that the embedding has a row for each token, because a token without a row could not be computed. Converters
 * of models with Mamba layers fill up the list of tokens to a multiple of 8, but not the embedding.
 */
function checkVocabulary(metadata: GgufMetadata, { shape }: StoredTensor): void {
  const count = usedTokenCount(metadata);
  if (shape.length === 2 && count <= shape[0]) return;
  throw metadata.error(`it has ${count} tokens, and its token_embd.weight is [${shape.join(", ")}]`);
}

/** Supported `general.quantization_version`: the version of the layout of quantized blocks. */
const blockVersion = 2;

function checkBlockVersion(metadata: GgufMetadata, tensors: GgufFile["tensors"]): void {
  const key = "general.quantization_version";
  const version = metadata.number(key) ?? blockVersion;
  if (version === blockVersion || [...tensors.values()].every(({ type }) => isPlainType(type))) return;
  throw metadata.refused(key, `blocks of version ${blockVersion} are read; convert the model again`);
}

/**
 * Refuses YaRN, and values of `rope.scaling.attn_factor` other than 1, in models with sliding windows: llama.cpp
 * applies the factor in sliding layers too, and Transformers does not.
 */
function refuseScaledMagnitude(metadata: GgufMetadata, prefix: string): void {
  const [typeKey, factorKey] = [`${prefix}.rope.scaling.type`, `${prefix}.rope.scaling.attn_factor`];
  if (metadata.text(typeKey) === "yarn")
    throw metadata.refused(typeKey, "none and linear are computed for this architecture");
  if ((metadata.number(factorKey) ?? 1) !== 1)
    throw metadata.refused(factorKey, "1 is computed for this architecture");
}

function onlyRopeTensors(
  tensors: GgufFile["tensors"],
  { ropeTensors }: GgufArchitecture,
): GgufFile["tensors"] {
  return new Map([...tensors].filter(([name]) => ropeTensors.includes(name)));
}

/**
 * Returns the config.json fields about biases. Queries, keys and values may have biases although the output projection
 * has none.
 */
function biasFields(
  tensors: GgufFile["tensors"],
  { architecture }: GgufArchitecture,
): Readonly<Record<string, boolean>> {
  const hasFeedForwardBias =
    readsFeedForwardBias.has(architecture) &&
    [...tensors.keys()].some((name) => name.endsWith(".ffn_up.bias"));
  const ofFeedForward: Readonly<Record<string, boolean>> = hasFeedForwardBias ? { mlp_bias: true } : {};
  if (!readsAttentionBias.has(architecture)) return ofFeedForward;
  const hasBias = tensors.has("blk.0.attn_q.bias");
  const hasPart = hasBias && !tensors.has("blk.0.attn_output.bias");
  const ofOutput: Readonly<Record<string, boolean>> = hasPart ? { attention_out_bias: false } : {};
  return { attention_bias: hasBias, ...ofOutput, ...ofFeedForward };
}

/**
 * Returns the fields of config.json with token ids. A field is null if the file has no such token: other programs would
 * replace an absent field by the id of a published model.
 */
function tokenIds(metadata: GgufMetadata): Readonly<Record<string, number | null>> {
  return {
    bos_token_id: metadata.tokenId("bos"),
    eos_token_id: metadata.usedTokenId("eos"),
    pad_token_id: metadata.tokenId("padding"),
  };
}

interface ReadArchitecture {
  /** `general.architecture`, which is the prefix of the architecture's keys. */
  readonly prefix: string;
  readonly known: GgufArchitecture;
}

/**
 * Returns the architecture of a file.
 *
 * @throws ServiceError `unsupported` for a file that is not a model, or of an unsupported architecture
 */
export function architectureOf(metadata: GgufMetadata): ReadArchitecture {
  const prefix = metadata.needed("general.architecture", metadata.text("general.architecture"));
  const type = metadata.text("general.type") ?? "model";
  if (type === "adapter") {
    throw metadata.error(
      `it is a LoRA adapter for ${prefix}; add the model that it belongs to, and bring the adapter in as PEFT files with \`hone models import\``,
    );
  }
  if (type === "mmproj" || prefix === "clip") {
    throw metadata.error(
      "it turns images into embeddings (mmproj) and holds no language model; add the model's own file, which answers texts without it",
    );
  }
  if (type !== "model") throw metadata.error(`it holds no model: its general.type is ${type}`);
  const known = Object.hasOwn(architectures, prefix) ? architectures[prefix] : undefined;
  if (known === undefined) {
    throw metadata.error(
      `its architecture is ${prefix}; ${ggufArchitectures.join(", ")} are served from GGUF files. Let vLLM compute other models: \`vllm serve <model> --port 8001\`, then \`hone serve --model '<name>=vllm+http://127.0.0.1:8001?files=<folder with its config.json and tokenizer.json>'\` (docs/guides/vllm.md)`,
    );
  }
  const isSet = (name: string): boolean => (metadata.number(`${prefix}.${name}`) ?? 0) !== 0;
  if (prefix === "olmo2" && isSet("attention.sliding_window")) return { prefix, known: olmo3 };
  if (prefix === "mistral3" && !isSet("attention.temperature_scale")) return { prefix, known: mistral };
  return { prefix, known };
}

/**
 * Returns the tensors under their Hugging Face names, with the converter's changes that reading must undo. Unknown
 * names are unchanged.
 *
 * @throws ServiceError as {@link ggufConfig}
 */
export function ggufTensors(
  { tensors }: GgufFile,
  metadata: GgufMetadata,
): ReadonlyMap<string, StoredTensor> {
  const { prefix, known } = architectureOf(metadata);
  const heads = headCount(metadata, prefix);
  const kvHeads = known.kvHeadCount(metadata, prefix) ?? heads;
  const named = new Map<string, StoredTensor>();
  for (const [ggufName, tensor] of tensors) {
    if (known.ropeTensors.includes(ggufName) || isBehindLayers(ggufName)) continue;
    const name = namedAs(ggufName, known);
    const ofMamba = mambaTensor(tensor, name);
    if (ofMamba !== null) {
      named.set(name, ofMamba);
      continue;
    }
    // Converters drop the axis of the convolution's inputs, which has one entry.
    const [channels, size] = tensor.shape;
    const isConvolution = /\.(?:conv\.conv|conv1d)\.weight$/.test(name);
    const isFactor = name.endsWith(".shared_expert_gate.weight") && size === undefined;
    const shape = isConvolution ? [channels, 1, size] : isFactor ? [1, channels] : tensor.shape;
    named.set(name, { ...tensor, name, shape, ...rearrangement(ggufName, name) });
  }
  return named;

  /** True for tensors of the layers that predict further tokens, which Hone does not compute. */
  function isBehindLayers(ggufName: string): boolean {
    const layer = /^blk\.(\d+)\./.exec(ggufName)?.[1];
    return layer !== undefined && Number(layer) >= layerCount(metadata, prefix) && hasDeltas(known);
  }

  function rearrangement(ggufName: string, name: string): Pick<StoredTensor, "rearranged"> {
    const part = /\.linear_attn\.(.+)$/.exec(name)?.[1];
    if (part !== undefined) {
      const heads = tiledHeads(part, metadata, prefix);
      return heads === null ? {} : { rearranged: heads };
    }
    if (known.hasWholeNorms && ggufName.endsWith("norm.weight")) return { rearranged: { kind: "plus-one" } };
    const paired = /\.attn_([qk])\.(?:weight|bias)$/.exec(ggufName)?.[1];
    if (!known.hasPairedRows || paired === undefined) return {};
    return { rearranged: { kind: "paired-rows", headCount: paired === "q" ? heads : kvHeads } };
  }
}

/**
 * Returns the GGUF architecture of a model class; null if no GGUF file has this class.
 *
 * @param className model class in config.json
 */
export function ggufArchitectureOf(className: string): string | null {
  const shared = sharedArchitectures[className];
  if (shared !== undefined) return shared;
  const found = Object.entries(architectures).find(([, { architecture }]) => architecture === className);
  return found?.[0] ?? null;
}

/** GGUF architectures of classes for which llama.cpp's converter writes the architecture of another class. */
const sharedArchitectures: Readonly<Record<string, string>> = {
  MistralForCausalLM: "llama",
  Olmo3ForCausalLM: "olmo2",
};

/** Returns a tensor's name in the GGUF file by its Hugging Face name, also for a tensor that the file lacks. */
export function ggufTensorName(name: string, architecture: string): string {
  const known = Object.hasOwn(architectures, architecture) ? architectures[architecture] : undefined;
  if (known === undefined) return name;
  const own = /^model\.layers\.(?<layer>\d+)\.(?<part>.+)$/.exec(name)?.groups;
  const bare = own && Object.keys(known.bareParts).find((key) => known.bareParts[key] === own["part"]);
  if (bare !== undefined) return `blk.${own?.["layer"]}.${bare}`;
  const match = /^(?:model\.layers\.(?<layer>\d+)\.)?(?<part>.+)\.(?<kind>weight|bias)$/.exec(name);
  if (match?.groups === undefined) return name;
  const { layer, part, kind } = match.groups;
  const parts = layer === undefined ? known.outerParts : known.layerParts;
  const found = Object.keys(parts).find((key) => parts[key] === part);
  if (found === undefined) return name;
  return layer === undefined ? `${found}.${kind}` : `blk.${layer}.${found}.${kind}`;
}

/** Returns the GGUF key from which a field of config.json is derived; null if there is none. */
export function ggufKeyOf(field: string, architecture: string): string | null {
  const key = Object.hasOwn(keysOfFields, field) ? keysOfFields[field] : undefined;
  return key === undefined ? null : `${architecture}.${key}`;
}

const keysOfFields: Readonly<Record<string, string>> = {
  hidden_size: "embedding_length",
  intermediate_size: "feed_forward_length",
  num_hidden_layers: "block_count",
  num_attention_heads: "attention.head_count",
  num_key_value_heads: "attention.head_count_kv",
  num_kv_shared_layers: "attention.shared_kv_layers",
  head_dim: "attention.key_length",
  max_position_embeddings: "context_length",
  rms_norm_eps: "attention.layer_norm_rms_epsilon",
  norm_eps: "attention.layer_norm_rms_epsilon",
  conv_L_cache: "shortconv.l_cache",
  rope_theta: "rope.freq_base",
  rope_local_base_freq: "rope.freq_base_swa",
  sliding_window: "attention.sliding_window",
  layer_types: "attention.sliding_window_pattern",
  partial_rotary_factor: "rope.dimension_count",
  rope_scaling: "rope.scaling",
  embedding_multiplier: "embedding_scale",
  attention_multiplier: "attention.scale",
  residual_multiplier: "residual_scale",
  logits_scaling: "logit_scale",
  final_logit_softcapping: "final_logit_softcapping",
  num_experts: "expert_count",
  num_experts_per_tok: "expert_used_count",
  moe_intermediate_size: "expert_feed_forward_length",
  shared_expert_intermediate_size: "expert_shared_feed_forward_length",
};

function hasDeltas({ layerParts: parts }: GgufArchitecture): boolean {
  return "ssm_beta" in parts;
}

function namedAs(ggufName: string, known: GgufArchitecture): string {
  const bare = /^blk\.(?<layer>\d+)\.(?<part>.+)$/.exec(ggufName)?.groups;
  if (bare !== undefined && Object.hasOwn(known.bareParts, bare["part"]))
    return `model.layers.${bare["layer"]}.${known.bareParts[bare["part"]]}`;
  const match = /^(?:blk\.(?<layer>\d+)\.)?(?<part>[\w.]+)\.(?<kind>weight|bias)$/.exec(ggufName);
  if (match?.groups === undefined) return ggufName;
  const { layer, part, kind } = match.groups;
  const parts = layer === undefined ? known.outerParts : known.layerParts;
  const name = parts[part];
  if (name === undefined) return ggufName;
  return layer === undefined ? `${name}.${kind}` : `model.layers.${layer}.${name}.${kind}`;
}

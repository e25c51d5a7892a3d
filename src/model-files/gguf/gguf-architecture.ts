// What GGUF files call models, their sizes and their tensors, in the words of the Hugging Face layout.
// Source: the names in llama.cpp (gguf-py's constants) and what its converters rearrange.
import { readFloats, type StoredTensor } from "../stored-tensor.ts";
import type { GgufFile } from "./gguf-file.ts";
import type { GgufMetadata } from "./metadata.ts";

interface GgufArchitecture {
  /** The class and type in config.json. */
  readonly architecture: string;
  readonly modelType: string;
  /** Whether converters put the rows of rotary pairs side by side, as llama.cpp's older rotary embedding wants them. */
  readonly hasPairedRows: boolean;
  /** Whether norms are stored as they multiply, where the Hugging Face layout has their distance from one. */
  readonly hasWholeNorms: boolean;
  /** By what stands between `blk.0.` and `.weight`, the same in config.json's layout. */
  readonly layerParts: Readonly<Record<string, string>>;
  /** Fields of config.json that this architecture has beside those of all. */
  readonly fields: (metadata: GgufMetadata, prefix: string) => Readonly<Record<string, unknown>>;
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

/** Where norms stand behind attention and feed-forward, three of them have other names. */
const outputNormParts: Readonly<Record<string, string>> = {
  ...layerParts,
  post_attention_norm: "post_attention_layernorm",
  ffn_norm: "pre_feedforward_layernorm",
  post_ffw_norm: "post_feedforward_layernorm",
};

/** Where projections are fused. */
const fusedParts: Readonly<Record<string, string>> = {
  ...layerParts,
  attn_qkv: "self_attn.qkv_proj",
  ffn_up: "mlp.gate_up_proj",
};

const plain = {
  hasPairedRows: false,
  hasWholeNorms: false,
  layerParts,
  fields: () => ({}),
} as const;

/** By `general.architecture`. */
const architectures: Readonly<Record<string, GgufArchitecture>> = {
  // Mistral's models are converted under this name as well.
  llama: { ...plain, architecture: "LlamaForCausalLM", modelType: "llama", hasPairedRows: true },
  qwen2: { ...plain, architecture: "Qwen2ForCausalLM", modelType: "qwen2" },
  qwen3: { ...plain, architecture: "Qwen3ForCausalLM", modelType: "qwen3" },
  granite: {
    ...plain,
    architecture: "GraniteForCausalLM",
    modelType: "granite",
    hasPairedRows: true,
    fields: graniteFields,
  },
  // Its files say nothing of the layers that do not rotate: each fourth, as in llama.cpp.
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
    fields: phi3Fields,
  },
  olmo2: { ...plain, architecture: "Olmo2ForCausalLM", modelType: "olmo2", layerParts: outputNormParts },
  gemma3: {
    architecture: "Gemma3ForCausalLM",
    modelType: "gemma3_text",
    hasPairedRows: false,
    hasWholeNorms: true,
    layerParts: outputNormParts,
    fields: gemma3Fields,
  },
};

function graniteFields(metadata: GgufMetadata, prefix: string): Readonly<Record<string, unknown>> {
  const written = (name: string): number => asWritten(metadata.number(`${prefix}.${name}`) ?? 1);
  return {
    embedding_multiplier: written("embedding_scale"),
    attention_multiplier: written("attention.scale"),
    residual_multiplier: written("residual_scale"),
    logits_scaling: written("logit_scale"),
  };
}

function phi3Fields(metadata: GgufMetadata, prefix: string): Readonly<Record<string, unknown>> {
  const number = (name: string): number | null => metadata.number(`${prefix}.${name}`);
  const width = number("embedding_length") ?? 0;
  const headSize = number("attention.key_length") ?? width / (number("attention.head_count") ?? 1);
  const original = number("rope.scaling.original_context_length") ?? number("context_length");
  return {
    partial_rotary_factor: (number("rope.dimension_count") ?? headSize) / headSize,
    original_max_position_embeddings: original,
    // Converters write 0 where there is no window.
    sliding_window: number("attention.sliding_window") || null,
  };
}

/** The layers of the one Gemma 3 whose scores are scaled by width and heads (27 B), by which llama.cpp knows it, too. */
const gemma3LargestLayers = 62;

function gemma3Fields(metadata: GgufMetadata, prefix: string): Readonly<Record<string, unknown>> {
  const headSize = metadata.number(`${prefix}.attention.key_length`) ?? 256;
  const isLargest = metadata.number(`${prefix}.block_count`) === gemma3LargestLayers;
  const width = metadata.number(`${prefix}.embedding_length`) ?? 0;
  const heads = metadata.number(`${prefix}.attention.head_count`) ?? 1;
  return {
    hidden_activation: "gelu_pytorch_tanh",
    query_pre_attn_scalar: isLargest ? width / heads : headSize,
    sliding_window: metadata.number(`${prefix}.attention.sliding_window`),
    layer_types: gemma3LayerTypes(metadata, prefix),
    rope_local_base_freq: metadata.number(`${prefix}.rope.freq_base_swa`) ?? 10_000,
  };
}

/** Older files do not say which layers slide: five of six do. */
function gemma3LayerTypes(metadata: GgufMetadata, prefix: string): readonly string[] {
  const listed = metadata.flags(`${prefix}.attention.sliding_window_pattern`);
  const count = metadata.needed(`${prefix}.block_count`, metadata.number(`${prefix}.block_count`));
  const slides = (layer: number): boolean => listed?.[layer] ?? (layer + 1) % 6 !== 0;
  return Array.from({ length: Math.min(count, layersMax) }, (_, layer) =>
    slides(layer) ? "sliding_attention" : "full_attention",
  );
}

/** More than any model has; a list of this length is made before a tensor is looked at. */
const layersMax = 10_000;

/** Where config.json says whether there are biases; elsewhere they are fixed by the class. */
const readsAttentionBias: ReadonlySet<string> = new Set([
  "LlamaForCausalLM",
  "GraniteForCausalLM",
  "SmolLM3ForCausalLM",
  "Olmo2ForCausalLM",
]);

/**
 * What config.json would say of the model.
 *
 * @throws ServiceError `unsupported` for an architecture that is not known, or what lacks in the metadata
 */
export function ggufConfig({ tensors }: GgufFile, metadata: GgufMetadata): Readonly<Record<string, unknown>> {
  const prefix = metadata.needed("general.architecture", metadata.text("general.architecture"));
  const known = knownArchitecture(metadata, prefix);
  const number = (name: string): number | null => metadata.number(`${prefix}.${name}`);
  const needed = (name: string): number => metadata.needed(`${prefix}.${name}`, number(name));
  const [width, headCount] = [needed("embedding_length"), needed("attention.head_count")];
  const embedding = metadata.needed("token_embd.weight", tensors.get("token_embd.weight") ?? null);
  return {
    architectures: [known.architecture],
    model_type: known.modelType,
    vocab_size: embedding.shape[0],
    hidden_size: width,
    intermediate_size: needed("feed_forward_length"),
    num_hidden_layers: needed("block_count"),
    num_attention_heads: headCount,
    num_key_value_heads: number("attention.head_count_kv") ?? headCount,
    head_dim: number("attention.key_length") ?? width / headCount,
    max_position_embeddings: needed("context_length"),
    rms_norm_eps: asWritten(needed("attention.layer_norm_rms_epsilon")),
    tie_word_embeddings: !tensors.has("output.weight"),
    rope_theta: asWritten(number("rope.freq_base") ?? 10_000),
    ...(readsAttentionBias.has(known.architecture)
      ? { attention_bias: tensors.has("blk.0.attn_q.bias") }
      : {}),
    ...ropeScaling(tensors, metadata, prefix),
    ...known.fields(metadata, prefix),
    ...tokenIds(metadata),
    torch_dtype: "float32",
  };
}

/** Null where the file names none: the classes of other programs have ids of published models in their place. */
function tokenIds(metadata: GgufMetadata): Readonly<Record<string, number | null>> {
  const id = (role: string): number | null => metadata.number(`tokenizer.ggml.${role}_token_id`);
  return { bos_token_id: id("bos"), eos_token_id: id("eos"), pad_token_id: id("padding") };
}

/** The shortest decimal that is the number in float32: what the file's maker had before it was rounded. */
function asWritten(value: number): number {
  for (let digits = 1; digits < 9; digits++) {
    const short = Number(value.toPrecision(digits));
    if (Math.fround(short) === Math.fround(value)) return short;
  }
  return value;
}

function knownArchitecture(metadata: GgufMetadata, name: string): GgufArchitecture {
  const known = architectures[name];
  if (known !== undefined) return known;
  throw metadata.error(
    `its architecture is ${name}; ${Object.keys(architectures).join(", ")} are read from GGUF files`,
  );
}

/** Factors of their own for each rotary pair, as Llama 3.1's, have in config.json the name of the method that lists them. */
function ropeScaling(
  tensors: GgufFile["tensors"],
  metadata: GgufMetadata,
  prefix: string,
): Readonly<Record<string, unknown>> {
  const listed = tensors.get("rope_freqs.weight");
  if (listed !== undefined) {
    const factors = [...readFloats(listed)];
    const scaling = {
      rope_type: "longrope",
      short_factor: factors,
      long_factor: factors,
      attention_factor: 1,
    };
    return { rope_scaling: scaling };
  }
  const [short, long] = [tensors.get("rope_factors_short.weight"), tensors.get("rope_factors_long.weight")];
  if (short !== undefined && long !== undefined) {
    const scaling = {
      rope_type: "longrope",
      short_factor: [...readFloats(short)].map(asWritten),
      long_factor: [...readFloats(long)].map(asWritten),
      attention_factor: metadata.number(`${prefix}.rope.scaling.attn_factor`) ?? undefined,
    };
    return { rope_scaling: scaling };
  }
  const type = metadata.text(`${prefix}.rope.scaling.type`) ?? "none";
  const factor = metadata.number(`${prefix}.rope.scaling.factor`);
  if (type === "none" || factor === null || factor === 1) return {};
  return { rope_scaling: { rope_type: type, factor } };
}

/** What config.json has as numbers. */
const rotaryTensors: ReadonlySet<string> = new Set([
  "rope_freqs.weight",
  "rope_factors_short.weight",
  "rope_factors_long.weight",
]);

const outerParts: Readonly<Record<string, string>> = {
  token_embd: "model.embed_tokens",
  output_norm: "model.norm",
  output: "lm_head",
};

/**
 * The tensors under the names of the Hugging Face layout, with what reading has to undo; names that are not known stay.
 *
 * @throws ServiceError as {@link ggufConfig}
 */
export function ggufTensors(
  { tensors }: GgufFile,
  metadata: GgufMetadata,
): ReadonlyMap<string, StoredTensor> {
  const prefix = metadata.needed("general.architecture", metadata.text("general.architecture"));
  const known = knownArchitecture(metadata, prefix);
  const heads = metadata.needed("head_count", metadata.number(`${prefix}.attention.head_count`));
  const kvHeads = metadata.number(`${prefix}.attention.head_count_kv`) ?? heads;
  const named = new Map<string, StoredTensor>();
  for (const [ggufName, tensor] of tensors) {
    if (rotaryTensors.has(ggufName)) continue;
    const name = namedAs(ggufName, known);
    named.set(name, { ...tensor, name, ...rearrangement(ggufName) });
  }
  return named;

  function rearrangement(ggufName: string): Pick<StoredTensor, "rearranged"> {
    if (known.hasWholeNorms && ggufName.endsWith("norm.weight")) return { rearranged: { kind: "plus-one" } };
    const part = /\.attn_([qk])\.(?:weight|bias)$/.exec(ggufName)?.[1];
    if (!known.hasPairedRows || part === undefined) return {};
    return { rearranged: { kind: "paired-rows", headCount: part === "q" ? heads : kvHeads } };
  }
}

function namedAs(ggufName: string, known: GgufArchitecture): string {
  const match = /^(?:blk\.(?<layer>\d+)\.)?(?<part>\w+)\.(?<kind>weight|bias)$/.exec(ggufName);
  if (match?.groups === undefined) return ggufName;
  const { layer, part, kind } = match.groups;
  const parts = layer === undefined ? outerParts : known.layerParts;
  const name = parts[part];
  if (name === undefined) return ggufName;
  return layer === undefined ? `${name}.${kind}` : `model.layers.${layer}.${name}.${kind}`;
}

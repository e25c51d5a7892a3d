// Small models with random weights as GGUF files, one per family, and variations of them. All numbers come from a seed,
// so that tests write exactly the files for which llama.cpp's results were recorded.
import { join } from "node:path";
import { seededRandom } from "../../src/base/domain/random.ts";
import type { StoredType } from "../../src/lib/model-files/stored-tensor.ts";
import {
  float,
  writeGguf,
  type WrittenTensor,
  type WrittenValue,
} from "../../src/lib/model-files/testing/write-gguf.ts";

/** Tensor types of the matrices: one type for all of them, or `mixed` types. */
export const matrixTypes = ["F32", "F16", "BF16", "Q8_0", "mixed"] as const;
export type MatrixType = (typeof matrixTypes)[number];

/** A file of a small model. */
export interface GgufCase {
  readonly name: string;
  readonly family: FamilyName;
  readonly type: MatrixType;
  /** Metadata keys, without the architecture's prefix. They replace the keys of the family. */
  readonly keys: Readonly<Record<string, WrittenValue>>;
  /** Additional tensors that the family does not have. */
  readonly tensors: readonly WrittenTensor[];
  /** Metadata keys that replace the tokenizer's. */
  readonly tokenizer?: Readonly<Record<string, WrittenValue>>;
}

const sizes = { layers: 4, width: 64, heads: 4, kvHeads: 2, headSize: 16, inner: 96, context: 256 } as const;
const { layers, width, heads, kvHeads, headSize, inner, context } = sizes;

type LayerTensors = Readonly<Record<string, readonly number[]>>;

interface Family {
  /** Value of the key `general.architecture`. */
  readonly architecture: string;
  readonly keys: Readonly<Record<string, WrittenValue>>;
  readonly layerTensors: LayerTensors;
  /** Tensors of the layers with odd numbers, if they differ from the other layers' tensors. */
  readonly oddLayerTensors?: LayerTensors;
  /** Tensors of the last layer, if they differ. */
  readonly lastLayerTensors?: LayerTensors;
  /** Tensors of the second half of the layers. They replace tensors of the same name, or are added. */
  readonly lateTensors?: LayerTensors;
  /** Tensors outside the layers that only this family has. */
  readonly outerTensors?: LayerTensors;
  readonly hasOutput: boolean;
  /** Name of the norm after the last layer; `output_norm.weight` if absent. */
  readonly finalNorm?: string;
}

/** Returns a token for each byte in GPT-2's spelling. */
function byteTokens(): readonly string[] {
  const isShown = (byte: number): boolean =>
    (byte >= 33 && byte <= 126) || (byte >= 161 && byte <= 172) || byte >= 174;
  let next = 256;
  return Array.from({ length: 256 }, (_, byte) => String.fromCodePoint(isShown(byte) ? byte : next++));
}

const tokens = [...byteTokens(), "th", "he", "<|end|>"];
export const vocabularySize: number = tokens.length;

const attention = {
  "attn_q.weight": [heads * headSize, width],
  "attn_k.weight": [kvHeads * headSize, width],
  "attn_v.weight": [kvHeads * headSize, width],
  "attn_output.weight": [width, heads * headSize],
} as const;
const feedForward = {
  "ffn_gate.weight": [inner, width],
  "ffn_up.weight": [inner, width],
  "ffn_down.weight": [width, inner],
} as const;
const inputNorms = { "attn_norm.weight": [width], "ffn_norm.weight": [width] } as const;
const outputNorms = { "post_attention_norm.weight": [width], "post_ffw_norm.weight": [width] } as const;
const headNorms = { "attn_q_norm.weight": [headSize], "attn_k_norm.weight": [headSize] } as const;
export const biases = {
  "attn_q.bias": [heads * headSize],
  "attn_k.bias": [kvHeads * headSize],
  "attn_v.bias": [kvHeads * headSize],
} as const;

const layerEmbedding = {
  "inp_gate.weight": [32, width],
  "proj.weight": [width, 32],
  "post_norm.weight": [width],
  "layer_output_scale.weight": [1],
} as const;

const plain = { keys: {}, layerTensors: { ...attention, ...feedForward, ...inputNorms }, hasOutput: true };
const olmo = {
  architecture: "olmo2",
  keys: {},
  layerTensors: {
    ...attention,
    ...feedForward,
    ...outputNorms,
    "attn_q_norm.weight": [heads * headSize],
    "attn_k_norm.weight": [kvHeads * headSize],
  },
  hasOutput: true,
} as const;

// Delta rules in the even layers, gated attention in the odd ones. Two value heads share each key head.
const qwen35 = {
  architecture: "qwen35",
  keys: {
    "attention.key_length": headSize,
    "attention.value_length": headSize,
    "rope.dimension_count": 8,
    "rope.dimension_sections": [2, 1, 1, 0],
    "ssm.conv_kernel": 4,
    "ssm.state_size": 32,
    "ssm.group_count": 2,
    "ssm.time_step_rank": 4,
    "ssm.inner_size": 128,
    full_attention_interval: 2,
  },
  layerTensors: {
    ...feedForward,
    "attn_norm.weight": [width],
    "post_attention_norm.weight": [width],
    "attn_qkv.weight": [256, width],
    "attn_gate.weight": [128, width],
    "ssm_conv1d.weight": [256, 4],
    ssm_a: [4],
    "ssm_dt.bias": [4],
    "ssm_alpha.weight": [4, width],
    "ssm_beta.weight": [4, width],
    "ssm_norm.weight": [32],
    "ssm_out.weight": [width, 128],
  },
  oddLayerTensors: {
    ...attention,
    ...feedForward,
    ...headNorms,
    "attn_norm.weight": [width],
    "post_attention_norm.weight": [width],
    "attn_q.weight": [2 * heads * headSize, width],
  },
  hasOutput: false,
} as const;

/** Returns the tensors of routed experts. */
function experts(count: number, size: number): LayerTensors {
  return {
    "ffn_gate_inp.weight": [count, width],
    "ffn_gate_exps.weight": [count, size, width],
    "ffn_up_exps.weight": [count, size, width],
    "ffn_down_exps.weight": [count, width, size],
  };
}

const sharedExpert: LayerTensors = {
  "ffn_gate_inp_shexp.weight": [width],
  "ffn_gate_shexp.weight": [inner, width],
  "ffn_up_shexp.weight": [inner, width],
  "ffn_down_shexp.weight": [width, inner],
};

function withoutDense(tensors: LayerTensors): LayerTensors {
  return Object.fromEntries(Object.entries(tensors).filter(([name]) => !Object.hasOwn(feedForward, name)));
}

/** Sizes and tensors of layers with Mamba-2: four heads, whose states have 32 columns. */
function mamba(groups: number): { readonly keys: Family["keys"]; readonly tensors: LayerTensors } {
  const channels = 128 + 2 * groups * 16;
  return {
    keys: {
      "ssm.conv_kernel": 4,
      "ssm.state_size": 16,
      "ssm.group_count": groups,
      "ssm.time_step_rank": 4,
      "ssm.inner_size": 128,
    },
    tensors: {
      "ssm_in.weight": [128 + channels + 4, width],
      "ssm_conv1d.weight": [channels, 4],
      "ssm_conv1d.bias": [channels],
      ssm_a: [4, 1],
      ssm_d: [4, 1],
      "ssm_dt.bias": [4],
      "ssm_norm.weight": [groups, 128 / groups],
      "ssm_out.weight": [width, 128],
    },
  };
}

export const families = {
  llama: { ...plain, architecture: "llama", keys: { "rope.dimension_count": headSize } },
  mistral3: {
    ...plain,
    architecture: "mistral3",
    keys: {
      "rope.dimension_count": headSize,
      "attention.temperature_scale": 0.1,
      "rope.scaling.type": "yarn",
      "rope.scaling.factor": float(16),
      "rope.scaling.original_context_length": 16,
      "rope.scaling.yarn_beta_fast": float(32),
      "rope.scaling.yarn_beta_slow": float(1),
      "rope.scaling.yarn_log_multiplier": float(1),
    },
  },
  qwen2: {
    ...plain,
    architecture: "qwen2",
    layerTensors: { ...plain.layerTensors, ...biases },
    hasOutput: false,
  },
  qwen3: { ...plain, architecture: "qwen3", layerTensors: { ...plain.layerTensors, ...headNorms } },
  granite: {
    ...plain,
    architecture: "granite",
    keys: {
      embedding_scale: float(3),
      "attention.scale": 0.3125,
      residual_scale: 0.6,
      logit_scale: 0.5,
    },
    hasOutput: false,
  },
  smollm3: { ...plain, architecture: "smollm3", hasOutput: false },
  phi3: {
    ...plain,
    architecture: "phi3",
    keys: { "rope.dimension_count": 12 },
    layerTensors: {
      ...inputNorms,
      "attn_qkv.weight": [(heads + 2 * kvHeads) * headSize, width],
      "attn_output.weight": attention["attn_output.weight"],
      "ffn_up.weight": [2 * inner, width],
      "ffn_down.weight": feedForward["ffn_down.weight"],
    },
  },
  olmo2: olmo,
  // Three of four layers use a sliding window, as in converted files.
  olmo3: {
    ...olmo,
    keys: {
      "attention.sliding_window": 8,
      "attention.sliding_window_pattern": [true, true, true, false],
      "rope.scaling.type": "yarn",
      "rope.scaling.factor": float(8),
      "rope.scaling.original_context_length": 32,
      "rope.scaling.yarn_attn_factor": 1.2079441541679836,
      "rope.scaling.yarn_beta_fast": float(32),
      "rope.scaling.yarn_beta_slow": float(1),
    },
  },
  // Mamba-2 in the even layers, attention without positions in the odd ones.
  granitehybrid: {
    architecture: "granitehybrid",
    keys: {
      ...mamba(1).keys,
      "attention.head_count_kv": [0, kvHeads, 0, kvHeads],
      embedding_scale: float(3),
      "attention.scale": 0.3125,
      residual_scale: 0.6,
      logit_scale: 0.5,
      "rope.scaling.finetuned": false,
      expert_count: 0,
    },
    layerTensors: { ...mamba(1).tensors, ...feedForward, ...inputNorms },
    oddLayerTensors: { ...attention, ...feedForward, ...inputNorms },
    hasOutput: false,
  },
  // Mamba-2, attention, Mamba-2, feed-forward.
  nemotron_h: {
    architecture: "nemotron_h",
    keys: {
      ...mamba(2).keys,
      "attention.key_length": headSize,
      "attention.value_length": headSize,
      "attention.head_count_kv": [0, kvHeads, 0, 0],
      feed_forward_length: [0, 0, 0, inner],
      "attention.layer_norm_epsilon": 1e-5,
    },
    layerTensors: { ...mamba(2).tensors, "attn_norm.weight": [width] },
    oddLayerTensors: { ...attention, "attn_norm.weight": [width] },
    lastLayerTensors: {
      "attn_norm.weight": [width],
      "ffn_up.weight": feedForward["ffn_up.weight"],
      "ffn_down.weight": feedForward["ffn_down.weight"],
    },
    hasOutput: true,
  },
  // Convolutions in the even layers, attention in the odd ones.
  lfm2: {
    architecture: "lfm2",
    keys: { "attention.head_count_kv": [0, kvHeads, 0, kvHeads], "shortconv.l_cache": 3 },
    layerTensors: {
      ...inputNorms,
      ...feedForward,
      "shortconv.conv.weight": [width, 3],
      "shortconv.in_proj.weight": [3 * width, width],
      "shortconv.out_proj.weight": [width, width],
    },
    oddLayerTensors: { ...attention, ...feedForward, ...inputNorms, ...headNorms },
    hasOutput: false,
    finalNorm: "token_embd_norm.weight",
  },
  qwen35,
  qwen3moe: {
    ...plain,
    architecture: "qwen3moe",
    keys: { expert_count: 6, expert_used_count: 3, expert_feed_forward_length: 64 },
    layerTensors: { ...attention, ...inputNorms, ...headNorms, ...experts(6, 64) },
  },
  "gpt-oss": {
    architecture: "gpt-oss",
    keys: {
      expert_count: 4,
      expert_used_count: 2,
      expert_feed_forward_length: 64,
      "attention.sliding_window": 8,
      "attention.key_length": headSize,
      "attention.value_length": headSize,
      "rope.scaling.type": "yarn",
      "rope.scaling.factor": float(8),
      "rope.scaling.original_context_length": 32,
    },
    layerTensors: {
      ...attention,
      ...biases,
      ...experts(4, 64),
      "attn_norm.weight": [width],
      "post_attention_norm.weight": [width],
      "attn_output.bias": [width],
      "attn_sinks.weight": [heads],
      "ffn_gate_inp.bias": [4],
      "ffn_gate_exps.bias": [4, 64],
      "ffn_up_exps.bias": [4, 64],
      "ffn_down_exps.bias": [4, width],
    },
    hasOutput: true,
  },
  qwen35moe: {
    ...qwen35,
    architecture: "qwen35moe",
    keys: {
      ...qwen35.keys,
      expert_count: 5,
      expert_used_count: 2,
      expert_feed_forward_length: 32,
      expert_shared_feed_forward_length: inner,
    },
    layerTensors: { ...withoutDense(qwen35.layerTensors), ...experts(5, 32), ...sharedExpert },
    oddLayerTensors: { ...withoutDense(qwen35.oddLayerTensors), ...experts(5, 32), ...sharedExpert },
  },
  gemma3: {
    architecture: "gemma3",
    keys: {
      "attention.key_length": headSize,
      "attention.value_length": headSize,
      "attention.sliding_window": 8,
      "rope.freq_base": float(1_000_000),
    },
    layerTensors: { ...attention, ...feedForward, ...inputNorms, ...outputNorms, ...headNorms },
    hasOutput: false,
  },
  // Windows in the even layers, larger heads in the odd ones. The last two layers share the keys and values of the
  // first two.
  gemma4: {
    architecture: "gemma4",
    keys: {
      feed_forward_length: [inner, inner, 2 * inner, 2 * inner],
      "attention.head_count_kv": [kvHeads, 1, kvHeads, 1],
      "attention.key_length": 2 * headSize,
      "attention.value_length": 2 * headSize,
      "attention.key_length_swa": headSize,
      "attention.value_length_swa": headSize,
      "attention.sliding_window": 8,
      "attention.sliding_window_pattern": [true, false, true, false],
      "attention.shared_kv_layers": 2,
      embedding_length_per_layer_input: 32,
      // Without this key, llama.cpp assumes a cap of 30, although converters leave the key out for models without a
      // cap.
      final_logit_softcapping: float(30),
      "rope.dimension_count": 2 * headSize,
      "rope.dimension_count_swa": headSize,
      "rope.freq_base_swa": float(500),
    },
    layerTensors: {
      ...attention,
      ...feedForward,
      ...inputNorms,
      ...outputNorms,
      ...headNorms,
      ...layerEmbedding,
    },
    oddLayerTensors: {
      ...feedForward,
      ...inputNorms,
      ...outputNorms,
      ...layerEmbedding,
      "attn_q.weight": [2 * heads * headSize, width],
      "attn_k.weight": [2 * headSize, width],
      "attn_v.weight": [2 * headSize, width],
      "attn_output.weight": [width, 2 * heads * headSize],
      "attn_q_norm.weight": [2 * headSize],
      "attn_k_norm.weight": [2 * headSize],
    },
    lateTensors: {
      "ffn_gate.weight": [2 * inner, width],
      "ffn_up.weight": [2 * inner, width],
      "ffn_down.weight": [width, 2 * inner],
    },
    outerTensors: {
      "per_layer_token_embd.weight": [vocabularySize, layers * 32],
      "per_layer_model_proj.weight": [layers * 32, width],
      "per_layer_proj_norm.weight": [32],
      "rope_freqs.weight": [headSize],
    },
    hasOutput: false,
  },
} as const satisfies Readonly<Record<string, Family>>;

export type FamilyName = keyof typeof families;

/** Writes the file of a case into a folder; the bytes are always the same. */
export function writeCase(folder: string, one: GgufCase): string {
  const file = join(folder, `${one.name}.gguf`);
  const { architecture, keys } = families[one.family];
  const below = { ...commonKeys, ...keys, ...one.keys };
  writeGguf(file, {
    metadata: {
      "general.architecture": architecture,
      ...Object.fromEntries(Object.entries(below).map(([key, value]) => [`${architecture}.${key}`, value])),
      ...tokenizerKeys,
      ...one.tokenizer,
    },
    tensors: [...modelTensors(one), ...one.tensors],
  });
  return file;
}

const commonKeys = {
  block_count: layers,
  context_length: context,
  embedding_length: width,
  feed_forward_length: inner,
  "attention.head_count": heads,
  "attention.head_count_kv": kvHeads,
  "attention.layer_norm_rms_epsilon": 1e-5,
  "rope.freq_base": float(10_000),
} as const;

const tokenizerKeys = {
  "tokenizer.ggml.model": "gpt2",
  "tokenizer.ggml.pre": "gpt-2",
  "tokenizer.ggml.tokens": tokens,
  "tokenizer.ggml.token_type": tokens.map((token) => (token === "<|end|>" ? 3 : 1)),
  "tokenizer.ggml.merges": ["t h", "h e"],
  "tokenizer.ggml.eos_token_id": tokens.length - 1,
} as const;

function modelTensors(one: GgufCase): readonly WrittenTensor[] {
  const family: Family = families[one.family];
  const {
    layerTensors,
    oddLayerTensors = layerTensors,
    lastLayerTensors,
    hasOutput,
    finalNorm = "output_norm.weight",
    lateTensors = {},
    outerTensors = {},
  } = family;
  const shapes: (readonly [string, readonly number[]])[] = [
    ["token_embd.weight", [vocabularySize, width]],
    [finalNorm, [width]],
    ...(hasOutput ? [["output.weight", [vocabularySize, width]] as const] : []),
    ...Object.entries(outerTensors),
  ];
  for (let layer = 0; layer < layers; layer++) {
    const usual = layer % 2 === 0 ? layerTensors : oddLayerTensors;
    const own = {
      ...(layer === layers - 1 ? (lastLayerTensors ?? usual) : usual),
      ...(layer < layers / 2 ? {} : lateTensors),
    };
    for (const [name, shape] of Object.entries(own)) shapes.push([`blk.${layer}.${name}`, shape]);
  }
  return shapes.map(([name, shape], index) => ({
    name,
    shape,
    type: name.endsWith("norm.weight") ? "F32" : typeOf(name, shape, { type: one.type, index }),
    data: randomTensor(name, shape),
  }));
}

/** In mixed files, the types alternate. */
function typeOf(
  name: string,
  shape: readonly number[],
  { type, index }: { readonly type: MatrixType; readonly index: number },
): StoredType {
  // Converters never quantize routers. The rows of a convolution's kernel are shorter than a quantization block.
  if (shape.length === 1 || /bias$|ffn_gate_inp/.test(name) || (shape.at(-1) ?? 0) < 32) return "F32";
  if (type !== "mixed") return type;
  return (["F32", "F16", "Q8_0", "BF16"] as const)[index % 4];
}

/**
 * Returns random numbers large enough that attention scores vary by several units. Thus every part of the model affects
 * the result.
 */
export function randomTensor(name: string, shape: readonly number[]): Float32Array {
  // A quarter of the pairs is rotated.
  if (name === "rope_freqs.weight") {
    const rotated = shape[0] / 4;
    return Float32Array.from({ length: shape[0] }, (_, pair) => (pair < rotated ? 1 : 1e30));
  }
  const random = seededRandom("gguf-numbers", name);
  // The decay of a delta rule is negative.
  const centre = /(?:norm|scale)\.weight$/.test(name) ? 1 : name.endsWith("ssm_a") ? -0.5 : 0;
  const values = new Float32Array(shape.reduce((product, size) => product * size, 1));
  for (let index = 0; index < values.length; index++) values[index] = centre + 0.7 * (random.uniform() - 0.5);
  return values;
}

/** The tokens of the prompt for every model. */
export const askedTokens: readonly number[] = Array.from({ length: 48 }, (_, place) =>
  seededRandom("gguf-numbers", "tokens", place).index(vocabularySize),
);

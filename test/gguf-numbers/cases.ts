// The GGUF files whose log-probabilities llama.cpp computed. Contains every family with every tensor type, and one
// variation for each key that changes how a family computes.
import {
  float,
  type WrittenTensor,
  type WrittenValue,
} from "../../src/lib/model-files/testing/write-gguf.ts";
import {
  biases,
  families,
  type FamilyName,
  type GgufCase,
  matrixTypes,
  randomTensor,
} from "./gguf-models.ts";

const familyNames = Object.keys(families) as FamilyName[]; // Object.keys forgets the type.

const inEveryType: readonly GgufCase[] = familyNames.flatMap((family) =>
  matrixTypes.map((type) => ({ name: `${family}-${type}`, family, type, keys: {}, tensors: [] })),
);

/** Returns a tensor with one factor of the rotary embedding for each pair of dimensions. */
const factors = (name: string, count: number): WrittenTensor => ({
  name,
  shape: [count],
  type: "F32",
  data: Float32Array.from({ length: count }, (_, pair) => 1 + pair * pair * 0.25),
});

const allBiases = { ...biases, "attn_output.bias": [64] };

function biasTensors(shapes: Readonly<Record<string, readonly number[]>>): readonly WrittenTensor[] {
  return [0, 1, 2, 3].flatMap((layer) =>
    Object.entries(shapes).map(([part, shape]) => {
      const name = `blk.${layer}.${part}`;
      return { name, shape, type: "F32", data: randomTensor(name, shape) } as const;
    }),
  );
}

interface Variation {
  readonly family: FamilyName;
  readonly keys?: Readonly<Record<string, WrittenValue>>;
  readonly tensors?: readonly WrittenTensor[];
}

const yarn = {
  "rope.scaling.type": "yarn",
  "rope.scaling.factor": float(4),
  "rope.scaling.original_context_length": 64,
};

const variations: Readonly<Record<string, Variation>> = {
  "llama-theta": { family: "llama", keys: { "rope.freq_base": float(500) } },
  "llama-without-theta-factor-0": { family: "llama", keys: { "rope.scaling.factor": float(0) } },
  "llama-linear": {
    family: "llama",
    keys: { "rope.scaling.type": "linear", "rope.scaling.factor": float(4) },
  },
  "llama-factor-without-type": { family: "llama", keys: { "rope.scaling.factor": float(4) } },
  "llama-scale-linear": { family: "llama", keys: { "rope.scale_linear": float(4) } },
  "llama-factor-before-scale-linear": {
    family: "llama",
    keys: { "rope.scale_linear": float(2), "rope.scaling.factor": float(4) },
  },
  "llama-type-none": {
    family: "llama",
    keys: { "rope.scaling.type": "none", "rope.scaling.factor": float(4) },
  },
  "llama-yarn": { family: "llama", keys: yarn },
  "llama-yarn-without-original": {
    family: "llama",
    keys: { "rope.scaling.type": "yarn", "rope.scaling.factor": float(4) },
  },
  "llama-yarn-attention-factor": { family: "llama", keys: { ...yarn, "rope.scaling.attn_factor": 0.75 } },
  "llama-yarn-factor-1": { family: "llama", keys: { ...yarn, "rope.scaling.factor": float(1) } },
  "llama-attention-factor": { family: "llama", keys: { "rope.scaling.attn_factor": 0.75 } },
  "llama-linear-attention-factor": {
    family: "llama",
    keys: { "rope.scaling.factor": float(4), "rope.scaling.attn_factor": 0.75 },
  },
  "llama-listed-factors": { family: "llama", tensors: [factors("rope_freqs.weight", 8)] },
  "llama-listed-factors-linear": {
    family: "llama",
    keys: { "rope.scaling.factor": float(4) },
    tensors: [factors("rope_freqs.weight", 8)],
  },
  "llama-biases": { family: "llama", tensors: biasTensors(allBiases) },
  "llama-input-biases": { family: "llama", tensors: biasTensors(biases) },
  "llama-lists": {
    family: "llama",
    keys: {
      feed_forward_length: [96, 96, 96, 96],
      "attention.head_count": [4, 4, 4, 4],
      "attention.head_count_kv": [2, 2, 2, 2],
    },
  },
  "llama-epsilon": { family: "llama", keys: { "attention.layer_norm_rms_epsilon": 0.1 } },
  "mistral3-plain": {
    family: "mistral3",
    keys: { "attention.temperature_scale": float(0), "rope.scaling.type": "none" },
  },
  "mistral3-steep": { family: "mistral3", keys: { "attention.temperature_scale": 0.5 } },
  "mistral3-limits": {
    family: "mistral3",
    keys: { "rope.scaling.yarn_beta_fast": float(4), "rope.scaling.yarn_beta_slow": 0.5 },
  },
  "mistral3-magnitude": { family: "mistral3", keys: { "rope.scaling.yarn_log_multiplier": 0.5 } },
  "qwen2-yarn": { family: "qwen2", keys: yarn },
  "qwen3-yarn": { family: "qwen3", keys: yarn },
  "qwen3-linear": { family: "qwen3", keys: { "rope.scale_linear": float(3) } },
  "granite-plain": {
    family: "granite",
    keys: {
      embedding_scale: float(0),
      "attention.scale": float(0),
      residual_scale: float(0),
      logit_scale: float(1),
    },
  },
  // As converted from Granite 4 without Mamba layers.
  "granite-without-mamba": {
    family: "granite",
    keys: {
      expert_count: 0,
      expert_used_count: 0,
      expert_shared_feed_forward_length: 96,
      "attention.head_count_kv": [2, 2, 2, 2],
      "ssm.conv_kernel": 4,
      "ssm.state_size": 256,
      "ssm.group_count": 1,
      "ssm.inner_size": 512,
      "ssm.time_step_rank": 8,
      "rope.dimension_count": 16,
      "rope.scaling.finetuned": true,
    },
  },
  "granite-listed-factors": { family: "granite", tensors: [factors("rope_freqs.weight", 8)] },
  "granite-yarn": { family: "granite", keys: yarn },
  "smollm3-yarn": { family: "smollm3", keys: yarn },
  "smollm3-biases": { family: "smollm3", tensors: biasTensors(biases) },
  "phi3-yarn": { family: "phi3", keys: yarn },
  "phi3-long-factors": {
    family: "phi3",
    keys: {
      "rope.scaling.original_context_length": 64,
      "rope.scaling.attn_factor": 1.19,
    },
    tensors: [
      factors("rope_factors_long.weight", 6),
      { ...factors("rope_factors_short.weight", 6), data: new Float32Array(6).fill(1) },
    ],
  },
  "olmo2-yarn": { family: "olmo2", keys: yarn },
  "olmo3-period": { family: "olmo3", keys: { "attention.sliding_window_pattern": 2 } },
  "olmo3-one-window": { family: "olmo3", keys: { "attention.sliding_window_pattern": 0 } },
  "olmo3-list": {
    family: "olmo3",
    keys: { "attention.sliding_window_pattern": [false, true, false, true] },
  },
  "olmo3-linear": {
    family: "olmo3",
    keys: { "rope.scaling.type": "linear", "rope.scaling.factor": float(4) },
  },
  "lfm2-linear": {
    family: "lfm2",
    keys: { "rope.scaling.type": "linear", "rope.scaling.factor": float(4) },
  },
  "lfm2-epsilon": { family: "lfm2", keys: { "attention.layer_norm_rms_epsilon": 0.1 } },
  "qwen35-theta": { family: "qwen35", keys: { "rope.freq_base": float(500) } },
  "granitehybrid-rotary": {
    family: "granitehybrid",
    keys: { "rope.scaling.finetuned": true, "rope.freq_base": float(500) },
  },
  "nemotron_h-epsilon": {
    family: "nemotron_h",
    keys: { "attention.layer_norm_rms_epsilon": 0.1, "attention.layer_norm_epsilon": 0.1 },
  },
  "gemma3-cap": { family: "gemma3", keys: { final_logit_softcapping: float(2) } },
  "gemma3-linear": {
    family: "gemma3",
    keys: {
      "rope.scaling.factor": float(8),
      "rope.freq_base": float(10_000),
      "attention.sliding_window_pattern": 2,
    },
  },
  "gemma3-period": { family: "gemma3", keys: { "attention.sliding_window_pattern": 2 } },
  "gemma3-list": {
    family: "gemma3",
    keys: { "attention.sliding_window_pattern": [false, true, true, false] },
  },
  "gemma3-local-theta": { family: "gemma3", keys: { "rope.freq_base_swa": float(300) } },
  "gemma4-cap": { family: "gemma4", keys: { final_logit_softcapping: float(2) } },
  "gemma4-theta": { family: "gemma4", keys: { "rope.freq_base": float(500) } },
  "gemma4-local-theta": { family: "gemma4", keys: { "rope.freq_base_swa": float(30) } },
  "gemma3-without-window": { family: "gemma3", keys: { "attention.sliding_window": 0 } },
};

/** All files for which llama.cpp's results were recorded. */
export const ggufCases: readonly GgufCase[] = [
  ...inEveryType,
  ...Object.entries(variations).map(([name, { family, keys = {}, tensors = [] }]) => ({
    name,
    family,
    type: "F32" as const,
    keys,
    tensors,
  })),
];

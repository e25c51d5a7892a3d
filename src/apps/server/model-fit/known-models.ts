// Published models that people often run on one machine, with the parts of their config.json that determine memory and
// speed. With these parts, `hone models fit` estimates the models without downloading anything.
import type { JsonObject } from "../../../inference/architectures/config/config-reader.ts";

export interface KnownModel {
  /** Repository on the Hugging Face hub. */
  readonly repository: string;
  readonly config: JsonObject;
}

type Sizes = readonly [
  width: number,
  intermediate: number,
  layers: number,
  heads: number,
  kvHeads: number,
  ...headSize: readonly number[],
];

/** Returns the fields of config.json that most architectures have, from a model's sizes. */
function sized([width, intermediate, layers, heads, kvHeads, headSize]: Sizes): JsonObject {
  return {
    hidden_size: width,
    intermediate_size: intermediate,
    num_hidden_layers: layers,
    num_attention_heads: heads,
    num_key_value_heads: kvHeads,
    head_dim: headSize ?? width / heads,
    eos_token_id: 2,
  };
}

interface Family {
  readonly architecture: string;
  readonly type: string;
  readonly vocabulary: number;
  readonly context: number;
  readonly fields?: JsonObject;
}

/** Returns a function that describes models of a family from their sizes. */
const familyOf =
  ({ architecture, type, vocabulary, context, fields }: Family) =>
  (repository: string, sizes: Sizes, own: JsonObject = {}): KnownModel => ({
    repository,
    config: {
      architectures: [architecture],
      model_type: type,
      vocab_size: vocabulary,
      max_position_embeddings: context,
      tie_word_embeddings: true,
      ...sized(sizes),
      ...fields,
      ...own,
    },
  });

const llama = { architecture: "LlamaForCausalLM", type: "llama" };
const smolLm2 = familyOf({ ...llama, vocabulary: 49_152, context: 8192 });
const llama32 = familyOf({ ...llama, vocabulary: 128_256, context: 131_072 });
const qwen3 = familyOf({
  architecture: "Qwen3ForCausalLM",
  type: "qwen3",
  vocabulary: 151_936,
  context: 40_960,
});
const qwen35 = familyOf({
  architecture: "Qwen3_5ForCausalLM",
  type: "qwen3_5_text",
  vocabulary: 248_320,
  context: 262_144,
});
const lfm2 = familyOf({
  architecture: "Lfm2ForCausalLM",
  type: "lfm2",
  vocabulary: 65_536,
  context: 128_000,
  fields: { block_auto_adjust_ff_dim: false },
});
const gemma3 = familyOf({
  architecture: "Gemma3ForCausalLM",
  type: "gemma3_text",
  vocabulary: 262_144,
  context: 32_768,
  fields: { sliding_window: 512 },
});
const granite4 = familyOf({
  architecture: "GraniteMoeHybridForCausalLM",
  type: "granitemoehybrid",
  vocabulary: 100_352,
  context: 131_072,
  fields: { num_local_experts: 0, position_embedding_type: "rope" },
});

const gemma4 = familyOf({
  architecture: "Gemma4ForCausalLM",
  type: "gemma4_text",
  vocabulary: 262_144,
  context: 131_072,
  fields: {
    sliding_window: 512,
    global_head_dim: 512,
    hidden_size_per_layer_input: 256,
    vocab_size_per_layer_input: 262_144,
    final_logit_softcapping: 30,
  },
});

/** Returns Gemma 4's kinds of layers: every `period`-th layer attends to the whole context. */
const gemmaLayers = (layers: number, period: number): JsonObject => ({
  layer_types: Array.from({ length: layers }, (_, layer) =>
    (layer + 1) % period === 0 ? "full_attention" : "sliding_attention",
  ),
});

/** Returns Granite's fields: every layer has attention, and the width of the feed-forward part has another name. */
const graniteFields = (layers: number, intermediate: number): JsonObject => ({
  layer_types: Array.from({ length: layers }, () => "attention"),
  shared_intermediate_size: intermediate,
});

/** Returns the fields of a Granite hybrid: attention without positions at the given layers, Mamba-2 at all others. */
const hybridFields = (
  layers: number,
  attention: readonly number[],
  { intermediate, heads, headSize }: Readonly<Record<"intermediate" | "heads" | "headSize", number>>,
): JsonObject => ({
  layer_types: Array.from({ length: layers }, (_, layer) =>
    attention.includes(layer) ? "attention" : "mamba",
  ),
  shared_intermediate_size: intermediate,
  position_embedding_type: "nope",
  mamba_n_heads: heads,
  mamba_d_head: headSize,
  mamba_d_state: 128,
  mamba_n_groups: 1,
});
const hybridAttention = [5, 15, 25, 35];

/** Layers with attention in LFM2's models of 16 layers; the others have a convolution. */
const lfmAttention = { full_attn_idxs: [2, 5, 8, 10, 12, 14] };
const untied = { tie_word_embeddings: false };

/** The models, from small to large. */
export const knownModels: readonly KnownModel[] = [
  smolLm2("HuggingFaceTB/SmolLM2-135M-Instruct", [576, 1536, 30, 9, 3]),
  gemma3("google/gemma-3-270m-it", [640, 2048, 18, 4, 1, 256]),
  granite4(
    "ibm-granite/granite-4.0-h-350m",
    [768, 2048, 32, 12, 4],
    hybridFields(32, [10, 13, 17, 27], { intermediate: 2048, heads: 48, headSize: 32 }),
  ),
  granite4("ibm-granite/granite-4.0-350m", [1024, 2048, 28, 16, 4], graniteFields(28, 2048)),
  lfm2("LiquidAI/LFM2-350M", [1024, 4608, 16, 16, 8], lfmAttention),
  smolLm2("HuggingFaceTB/SmolLM2-360M-Instruct", [960, 2560, 32, 15, 5]),
  qwen3("Qwen/Qwen3-0.6B", [1024, 3072, 28, 16, 8, 128]),
  qwen35("Qwen/Qwen3.5-0.8B", [1024, 3584, 24, 8, 2, 256], { linear_num_value_heads: 16 }),
  gemma3("google/gemma-3-1b-it", [1152, 6912, 26, 4, 1, 256]),
  lfm2("LiquidAI/LFM2.5-1.2B-Instruct", [2048, 8192, 16, 32, 8], lfmAttention),
  llama32("meta-llama/Llama-3.2-1B-Instruct", [2048, 8192, 16, 32, 8]),
  granite4(
    "ibm-granite/granite-4.0-h-1b",
    [1536, 4096, 40, 12, 4],
    hybridFields(40, hybridAttention, { intermediate: 4096, heads: 48, headSize: 64 }),
  ),
  granite4("ibm-granite/granite-4.0-1b", [2048, 4096, 40, 16, 4], graniteFields(40, 4096)),
  smolLm2("HuggingFaceTB/SmolLM2-1.7B-Instruct", [2048, 8192, 24, 32, 32]),
  qwen3("Qwen/Qwen3-1.7B", [2048, 6144, 28, 16, 8, 128]),
  qwen35("Qwen/Qwen3.5-2B", [2048, 6144, 24, 8, 2, 256], { linear_num_value_heads: 16 }),
  familyOf({
    architecture: "SmolLM3ForCausalLM",
    type: "smollm3",
    vocabulary: 128_256,
    context: 65_536,
  })("HuggingFaceTB/SmolLM3-3B", [2048, 11_008, 36, 16, 4]),
  granite4(
    "ibm-granite/granite-4.0-h-micro",
    [2048, 8192, 40, 32, 8],
    hybridFields(40, hybridAttention, { intermediate: 8192, heads: 64, headSize: 64 }),
  ),
  llama32("meta-llama/Llama-3.2-3B-Instruct", [3072, 8192, 28, 24, 8]),
  granite4("ibm-granite/granite-4.0-micro", [2560, 8192, 40, 40, 8], graniteFields(40, 8192)),
  familyOf({
    architecture: "Ministral3ForCausalLM",
    type: "ministral3",
    vocabulary: 131_072,
    context: 262_144,
  })("mistralai/Ministral-3-3B-Instruct-2512", [3072, 9216, 26, 32, 8, 128]),
  familyOf({
    architecture: "Phi3ForCausalLM",
    type: "phi3",
    vocabulary: 200_064,
    context: 131_072,
    fields: { partial_rotary_factor: 0.75 },
  })("microsoft/Phi-4-mini-instruct", [3072, 8192, 32, 24, 8]),
  qwen3("Qwen/Qwen3-4B", [2560, 9728, 36, 32, 8, 128]),
  qwen35("Qwen/Qwen3.5-4B", [2560, 9216, 32, 16, 4, 256], { linear_num_value_heads: 32 }),
  gemma4("google/gemma-4-E2B-it", [1536, 6144, 35, 8, 1, 256], {
    ...gemmaLayers(35, 5),
    num_kv_shared_layers: 20,
    use_double_wide_mlp: true,
  }),
  familyOf({
    architecture: "Olmo3ForCausalLM",
    type: "olmo3",
    vocabulary: 100_278,
    context: 65_536,
    fields: { sliding_window: 4096 },
  })("allenai/Olmo-3-7B-Instruct", [4096, 11_008, 32, 32, 32], untied),
  gemma4("google/gemma-4-E4B-it", [2560, 10_240, 42, 8, 2, 256], {
    ...gemmaLayers(42, 6),
    num_kv_shared_layers: 18,
    use_double_wide_mlp: false,
  }),
  llama32("meta-llama/Llama-3.1-8B-Instruct", [4096, 14_336, 32, 32, 8], untied),
  qwen3("Qwen/Qwen3-8B", [4096, 12_288, 36, 32, 8, 128], untied),
  qwen35("Qwen/Qwen3.5-9B", [4096, 12_288, 32, 16, 4, 256], { linear_num_value_heads: 32, ...untied }),
  familyOf({
    architecture: "GptOssForCausalLM",
    type: "gpt_oss",
    vocabulary: 201_088,
    context: 131_072,
    fields: { num_local_experts: 32, num_experts_per_tok: 4, sliding_window: 128 },
  })("openai/gpt-oss-20b", [2880, 2880, 24, 64, 8, 64], untied),
  familyOf({
    architecture: "Qwen3MoeForCausalLM",
    type: "qwen3_moe",
    vocabulary: 151_936,
    context: 262_144,
    fields: { num_experts: 128, num_experts_per_tok: 8, moe_intermediate_size: 768, norm_topk_prob: true },
  })("Qwen/Qwen3-30B-A3B-Instruct-2507", [2048, 6144, 48, 32, 4, 128], untied),
];

// Shape of the larger model of the benchmarks: a Llama with 135 million weights (30 layers, width 576).
import type { ModelConfig } from "../../src/inference/architectures/config.ts";
import { parseModelConfig } from "../../src/inference/architectures/config/read-config.ts";

/** Contents of the model's `config.json`. */
export const llama135mFile = {
  architectures: ["LlamaForCausalLM"],
  model_type: "llama",
  vocab_size: 49_152,
  hidden_size: 576,
  intermediate_size: 1536,
  num_hidden_layers: 30,
  num_attention_heads: 9,
  num_key_value_heads: 3,
  head_dim: 64,
  hidden_act: "silu",
  rms_norm_eps: 1e-5,
  rope_theta: 100_000,
  max_position_embeddings: 2048,
  tie_word_embeddings: true,
  eos_token_id: 2,
} as const;

/** Returns the model configuration. Each benchmark creates random weights for it. */
export function llama135m(): ModelConfig {
  return parseModelConfig(llama135mFile, {}, "the 135 M shape");
}

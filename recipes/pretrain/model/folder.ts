// Writes what is small in the built-in model's folder, in the Hugging Face layout: configuration and chat template. The
// tokenizer is train-tokenizer.ts's, the weights pretrain.ts's and the model card evaluate.ts's.
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { specialTokens } from "./vocabulary.ts";

/** The sizes of hone-tiny; everything else follows. */
export const sizes = {
  vocabulary: 768,
  width: 256,
  layers: 5,
  heads: 8,
  intermediate: 512,
  context: 1024,
} as const;

const config = {
  architectures: ["LlamaForCausalLM"],
  model_type: "llama",
  vocab_size: sizes.vocabulary,
  hidden_size: sizes.width,
  intermediate_size: sizes.intermediate,
  num_hidden_layers: sizes.layers,
  num_attention_heads: sizes.heads,
  num_key_value_heads: sizes.heads,
  head_dim: sizes.width / sizes.heads,
  hidden_act: "silu",
  rms_norm_eps: 1e-6,
  rope_theta: 10000,
  rope_scaling: null,
  max_position_embeddings: sizes.context,
  attention_bias: false,
  mlp_bias: false,
  tie_word_embeddings: true,
  initializer_range: 0.02,
  bos_token_id: null,
  eos_token_id: 2,
  pad_token_id: 0,
  torch_dtype: "bfloat16",
};

const tokenizerConfig = {
  tokenizer_class: "PreTrainedTokenizerFast",
  bos_token: null,
  eos_token: specialTokens[2],
  pad_token: specialTokens[0],
  unk_token: null,
  model_max_length: sizes.context,
  clean_up_tokenization_spaces: false,
};

/**
 * ChatML. Tools stand behind the system prompt as signatures, a line each, since a schema in JSON would take five times as many
 * tokens; calls are written as Hermes and Qwen do, and results come back as turns of the role `tool`.
 */
const chatTemplate = `{%- if tools %}
{{- '<|im_start|>system\\n' }}
{%- if messages[0].role == 'system' %}{{- (messages[0].content or '') + '\\n\\n' }}{%- endif %}
{{- '<tools>\\n' }}
{%- for tool in tools %}
{%- set function = tool.function or tool %}
{{- function.name + '(' }}
{%- for name, schema in ((function.parameters or {}).properties or {}) | items %}
{{- ('' if loop.first else ', ') + name }}
{%- if schema.enum %}{{- ': ' + (schema.enum | tojson) }}
{%- elif schema.type is string %}{{- ': ' + schema.type }}
{%- endif %}
{%- endfor %}
{{- ')' }}
{%- if function.description %}{{- ' ' + function.description }}{%- endif %}
{{- '\\n' }}
{%- endfor %}
{{- '</tools><|im_end|>\\n' }}
{%- elif messages[0].role == 'system' %}
{{- '<|im_start|>system\\n' + (messages[0].content or '') + '<|im_end|>\\n' }}
{%- endif %}
{%- for message in messages %}
{%- if not (loop.first and message.role == 'system') %}
{{- '<|im_start|>' + message.role + '\\n' + (message.content or '') }}
{%- for call in message.tool_calls or [] %}
{%- if message.content or not loop.first %}{{- '\\n' }}{%- endif %}
{{- '<tool_call>\\n{"name": ' + (call.function.name | tojson) + ', "arguments": ' + (call.function.arguments | tojson) + '}\\n</tool_call>' }}
{%- endfor %}
{{- '<|im_end|>\\n' }}
{%- endif %}
{%- endfor %}
{%- if add_generation_prompt %}{{- '<|im_start|>assistant\\n' }}{%- endif %}
`;

/** Writes config.json, tokenizer_config.json, generation_config.json and chat_template.jinja. */
export function writeConfiguration(folder: string): void {
  mkdirSync(folder, { recursive: true });
  const writeJson = (name: string, value: unknown): void =>
    writeFileSync(join(folder, name), `${JSON.stringify(value, null, 2)}\n`);
  writeJson("config.json", config);
  writeJson("tokenizer_config.json", tokenizerConfig);
  writeJson("generation_config.json", { eos_token_id: 2, pad_token_id: 0, temperature: 1, top_p: 1 });
  writeFileSync(join(folder, "chat_template.jinja"), chatTemplate);
}

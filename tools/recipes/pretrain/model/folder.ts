// Writes the small files of the built-in model's folder in the Hugging Face layout: configuration, chat template and
// tokenizer. The weights and the model card are written at the end of a run.
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Chat } from "../corpus/chats.ts";
import { buildTokenizer, countPieces, specialTokens } from "./vocabulary.ts";

/** Sizes that determine the rest of a model's shape. */
export interface ModelSizes {
  readonly vocabulary: number;
  readonly width: number;
  readonly layers: number;
  readonly heads: number;
  readonly intermediate: number;
  readonly context: number;
}

export const honeTinySizes: ModelSizes = {
  vocabulary: 672,
  width: 256,
  layers: 5,
  heads: 8,
  intermediate: 512,
  context: 1024,
};

function configOf(sizes: ModelSizes): object {
  return {
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
}

function tokenizerConfigOf(sizes: ModelSizes): object {
  return {
    tokenizer_class: "PreTrainedTokenizerFast",
    bos_token: null,
    eos_token: specialTokens[2],
    pad_token: specialTokens[0],
    unk_token: null,
    model_max_length: sizes.context,
    clean_up_tokenization_spaces: false,
  };
}

/**
 * ChatML. Tools follow the system prompt as signatures, one per line, since JSON schemas would take five times as many
 * tokens. Calls have the form used by Hermes and Qwen, and results are turns with the role `tool`.
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
export function writeConfiguration(folder: string, sizes: ModelSizes = honeTinySizes): void {
  mkdirSync(folder, { recursive: true });
  writeJson(folder, "config.json", configOf(sizes));
  writeJson(folder, "tokenizer_config.json", tokenizerConfigOf(sizes));
  writeJson(folder, "generation_config.json", { eos_token_id: 2, pad_token_id: 0, temperature: 1, top_p: 1 });
  writeFileSync(join(folder, "chat_template.jinja"), chatTemplate);
}

/** Writes tokenizer.json: byte-level BPE in which the most frequent words of the chats are single tokens. */
export function writeTokenizer(folder: string, chats: Iterable<Chat>, sizes: ModelSizes): void {
  writeJson(folder, "tokenizer.json", buildTokenizer(countPieces(chats), sizes.vocabulary));
}

function writeJson(folder: string, name: string, value: unknown): void {
  writeFileSync(join(folder, name), `${JSON.stringify(value, null, 2)}\n`);
}

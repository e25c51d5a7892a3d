// The chat request as the interface spells it: every field with its type, range and nullability. This schema checks
// bodies and documents them; what a field means, and which we can honour, is said elsewhere.
import { Type, type Static } from "typebox";
import { nullable } from "../nullable.ts";

/** An object whose unknown keys are kept. */
const open = { additionalProperties: true };

const anyObject = Type.Object({}, open);
const seedMax = 2 ** 63;

const contentPart = Type.Union([
  Type.String({ title: "str" }),
  Type.Object({ type: Type.String() }, { ...open, title: "ContentPart" }),
]);

const messageSchema = Type.Object(
  {
    role: Type.String(),
    content: nullable(
      Type.Union([Type.String({ title: "str" }), Type.Array(contentPart, { title: "list[ContentPart]" })]),
    ),
    name: nullable(Type.String()),
    tool_call_id: nullable(Type.String()),
    tool_calls: nullable(Type.Array(anyObject)),
  },
  { ...open, title: "Message" },
);

const toolSchema = Type.Object(
  {
    type: Type.Enum(["function"]),
    function: Type.Object(
      {
        name: Type.String(),
        description: nullable(Type.String()),
        parameters: nullable(anyObject),
        strict: nullable(Type.Boolean()),
      },
      { ...open, title: "FunctionDefinition" },
    ),
  },
  { ...open, title: "Tool" },
);

const toolChoiceSchema = Type.Union([
  Type.Enum(["none", "auto", "required"]),
  Type.Object(
    { type: Type.Enum(["function"]), function: Type.Object({ name: Type.String() }, open) },
    { ...open, title: "NamedToolChoice" },
  ),
]);

const responseFormatSchema = Type.Object(
  {
    type: Type.Enum(["text", "json_object", "json_schema", "structural_tag"]),
    json_schema: nullable(
      Type.Object(
        {
          name: Type.String(),
          description: nullable(Type.String()),
          schema: nullable(anyObject),
          strict: nullable(Type.Boolean()),
        },
        { ...open, title: "JsonSchema" },
      ),
    ),
  },
  { ...open, title: "ResponseFormat" },
);

const structuredOutputsSchema = Type.Object(
  {
    json: nullable(Type.Union([Type.String({ title: "str" }), Type.Object({}, { ...open, title: "dict" })])),
    regex: nullable(Type.String()),
    choice: nullable(Type.Array(Type.String())),
    grammar: nullable(Type.String()),
    json_object: nullable(Type.Boolean()),
    disable_fallback: Type.Optional(Type.Boolean()),
    disable_any_whitespace: Type.Optional(Type.Boolean()),
    disable_additional_properties: Type.Optional(Type.Boolean()),
    whitespace_pattern: nullable(Type.String()),
    structural_tag: nullable(Type.String()),
    _backend: nullable(Type.String()),
    _backend_was_auto: Type.Optional(Type.Boolean()),
  },
  { title: "StructuredOutputs" },
);

const logitsProcessorSchema = Type.Union([
  Type.String({ title: "str" }),
  Type.Object(
    { qualname: Type.String(), args: nullable(Type.Array(Type.Unknown())), kwargs: nullable(anyObject) },
    { title: "LogitsProcessorConstructor" },
  ),
]);

const extraArgument = Type.Union([
  Type.String({ title: "str" }),
  Type.Number({ title: "float" }),
  Type.Array(Type.Union([Type.String({ title: "str" }), Type.Number({ title: "float" })]), { title: "list" }),
]);
const extraArguments = Type.Object({}, { additionalProperties: extraArgument });

export const chatRequestSchema = Type.Object(
  {
    messages: Type.Array(messageSchema, { minItems: 1 }),
    model: nullable(Type.String()),
    frequency_penalty: nullable(Type.Number({ minimum: -2, maximum: 2 })),
    logit_bias: nullable(Type.Object({}, { additionalProperties: Type.Number() })),
    logprobs: nullable(Type.Boolean()),
    top_logprobs: nullable(Type.Integer({ minimum: 0, maximum: 20 })),
    max_tokens: nullable(Type.Integer({ minimum: 1 })),
    max_completion_tokens: nullable(Type.Integer({ minimum: 1 })),
    n: nullable(Type.Integer({ minimum: 1, maximum: 128 })),
    presence_penalty: nullable(Type.Number({ minimum: -2, maximum: 2 })),
    response_format: nullable(responseFormatSchema),
    seed: nullable(Type.Integer({ minimum: -seedMax, maximum: seedMax })),
    stop: nullable(
      Type.Union([Type.String({ title: "str" }), Type.Array(Type.String(), { title: "list[str]" })]),
    ),
    stream: nullable(Type.Boolean()),
    stream_options: nullable(
      Type.Object(
        { include_usage: nullable(Type.Boolean()), continuous_usage_stats: nullable(Type.Boolean()) },
        { title: "StreamOptions" },
      ),
    ),
    temperature: nullable(Type.Number({ minimum: 0 })),
    top_p: nullable(Type.Number({ exclusiveMinimum: 0, maximum: 1 })),
    tools: nullable(Type.Array(toolSchema)),
    tool_choice: nullable(toolChoiceSchema),
    reasoning_effort: nullable(Type.Enum(["low", "medium", "high"])),
    include_reasoning: Type.Optional(Type.Boolean()),
    parallel_tool_calls: nullable(Type.Boolean()),
    user: nullable(Type.String()),
    use_beam_search: Type.Optional(Type.Boolean()),
    top_k: nullable(Type.Integer({ minimum: -1 })),
    min_p: nullable(Type.Number({ minimum: 0, maximum: 1 })),
    repetition_penalty: nullable(Type.Number({ exclusiveMinimum: 0 })),
    length_penalty: Type.Optional(Type.Number()),
    stop_token_ids: nullable(Type.Array(Type.Integer({ minimum: 0 }))),
    include_stop_str_in_output: Type.Optional(Type.Boolean()),
    ignore_eos: Type.Optional(Type.Boolean()),
    min_tokens: Type.Optional(Type.Integer({ minimum: 0 })),
    skip_special_tokens: Type.Optional(Type.Boolean()),
    spaces_between_special_tokens: Type.Optional(Type.Boolean()),
    truncate_prompt_tokens: nullable(Type.Integer({ minimum: -1, maximum: seedMax })),
    prompt_logprobs: nullable(Type.Integer({ minimum: 0 })),
    allowed_token_ids: nullable(Type.Array(Type.Integer({ minimum: 0 }))),
    bad_words: Type.Optional(Type.Array(Type.String())),
    echo: Type.Optional(Type.Boolean()),
    add_generation_prompt: Type.Optional(Type.Boolean()),
    continue_final_message: Type.Optional(Type.Boolean()),
    add_special_tokens: Type.Optional(Type.Boolean()),
    documents: nullable(Type.Array(anyObject)),
    chat_template: nullable(Type.String()),
    chat_template_kwargs: nullable(anyObject),
    mm_processor_kwargs: nullable(anyObject),
    structured_outputs: nullable(structuredOutputsSchema),
    priority: Type.Optional(Type.Integer()),
    request_id: Type.Optional(Type.String({ minLength: 1, maxLength: 256 })),
    logits_processors: nullable(Type.Array(logitsProcessorSchema)),
    return_tokens_as_token_ids: nullable(Type.Boolean()),
    return_token_ids: nullable(Type.Boolean()),
    cache_salt: nullable(Type.String({ minLength: 1 })),
    kv_transfer_params: nullable(anyObject),
    vendor_xargs: nullable(extraArguments),
    vllm_xargs: nullable(extraArguments),
  },
  { title: "ChatCompletionRequest" },
);

export type ChatRequestBody = Static<typeof chatRequestSchema>;

// The chat request as the interface spells it: every field with its type, range and nullability. This schema checks
// bodies and documents them, with the fields of objects in fields; the fields themselves have their rows beside
// (`chat-documentation.ts`), and which of them we can honour is said there too (`chat-fields.ts`).
import { Type, type Static } from "typebox";
import { choiceCountMax } from "../../domain/generation.ts";
import { nullable } from "../nullable.ts";
import { foreignSchemas } from "./fields/foreign-fields.ts";

/** An object whose unknown keys are kept. */
const open = { additionalProperties: true };

const anyObject = Type.Object({}, open);
const seedMax = 2 ** 63;

const contentPart = Type.Union([
  Type.String({ title: "str" }),
  Type.Object(
    {
      type: Type.String({ description: "`text`, `input_text`, `output_text`, `refusal` or `thinking`." }),
    },
    { ...open, title: "ContentPart" },
  ),
]);

export const messageSchema = Type.Object(
  {
    role: Type.String({
      description:
        "Such as developer, system, user, assistant, tool; the chat template decides which there are.",
    }),
    content: nullable(
      Type.Union([Type.String({ title: "str" }), Type.Array(contentPart, { title: "list[ContentPart]" })]),
      { description: "A text, or parts whose texts are joined." },
    ),
    name: nullable(Type.String(), { description: "Who says it, for templates that show names." }),
    tool_call_id: nullable(Type.String(), { description: "Of a tool's message: which call it answers." }),
    tool_calls: nullable(Type.Array(anyObject), {
      description: "Of an assistant's message: the calls that it made, as answers have them.",
    }),
  },
  { ...open, title: "Message" },
);

const toolSchema = Type.Object(
  {
    type: Type.Enum(["function", "custom"], { description: "`custom` takes one text instead of arguments." }),
    function: nullable(
      Type.Object(
        {
          name: Type.String({ description: "What the model calls it by." }),
          description: nullable(Type.String(), { description: "What it does, for the model." }),
          parameters: nullable(anyObject, { description: "JSON Schema of the arguments." }),
          strict: nullable(Type.Boolean(), { description: "Arguments follow the schema exactly." }),
        },
        { ...open, title: "FunctionDefinition" },
      ),
      { description: "The function, of a tool of this type." },
    ),
    custom: nullable(
      Type.Object(
        {
          name: Type.String({ description: "What the model calls it by." }),
          description: nullable(Type.String(), { description: "What it does, for the model." }),
          format: nullable(
            Type.Object(
              {
                type: Type.Enum(["text", "grammar"], { description: "`text` takes any text." }),
                grammar: nullable(
                  Type.Object(
                    {
                      syntax: Type.Enum(["lark", "regex"], { description: "How it is written." }),
                      definition: Type.String({ description: "The grammar, which every call keeps." }),
                    },
                    { ...open, title: "ToolGrammar" },
                  ),
                  { description: "With `grammar`: what the text matches." },
                ),
              },
              { ...open, title: "ToolFormat" },
            ),
            { description: "What the text is held to." },
          ),
        },
        { ...open, title: "CustomDefinition" },
      ),
      { description: "The tool, of one of this type." },
    ),
  },
  { ...open, title: "Tool" },
);

const namedTool = Type.Object(
  { name: Type.String({ description: "One of the tools' names." }) },
  { ...open, title: "NamedTool" },
);

const toolChoiceSchema = Type.Union([
  Type.Enum(["none", "auto", "required"]),
  Type.Object(
    {
      type: Type.Enum(["function", "custom", "allowed_tools"], {
        description: "A tool that must be called, or those that may be.",
      }),
      function: nullable(namedTool, { description: "The function that must be called." }),
      custom: nullable(namedTool, { description: "The custom tool that must be called." }),
      allowed_tools: nullable(
        Type.Object(
          {
            mode: Type.Enum(["auto", "required"], { description: "As the choice of that name." }),
            tools: Type.Array(anyObject, { description: "Tools by their type and name." }),
          },
          { ...open, title: "AllowedTools" },
        ),
        { description: "The tools that may be called; all are shown to the model." },
      ),
    },
    { ...open, title: "NamedToolChoice" },
  ),
]);

const responseFormatSchema = Type.Object(
  {
    type: Type.Enum(["text", "json_object", "json_schema", "structural_tag"], {
      description: "What the answer is held to.",
    }),
    json_schema: nullable(
      Type.Object(
        {
          name: Type.String({ description: "For people; nothing depends on it." }),
          description: nullable(Type.String(), { description: "For people; nothing depends on it." }),
          schema: nullable(anyObject, { description: "The JSON Schema." }),
          strict: nullable(Type.Boolean(), {
            description: "Every schema is kept exactly, whatever this says.",
          }),
        },
        { ...open, title: "JsonSchema" },
      ),
      { description: "With `json_schema`: the schema that the answer is held to." },
    ),
  },
  { ...open, title: "ResponseFormat" },
);

const structuredOutputsSchema = Type.Object(
  {
    json: nullable(Type.Union([Type.String({ title: "str" }), Type.Object({}, { ...open, title: "dict" })]), {
      description: "The answer is JSON of this JSON Schema, which is an object or a text of it.",
    }),
    regex: nullable(Type.String(), { description: "The whole answer matches this regular expression." }),
    choice: nullable(Type.Array(Type.String()), { description: "The answer is one of these texts." }),
    grammar: nullable(Type.String(), {
      description: "The answer is a text of this grammar, in GBNF or in Lark's notation.",
    }),
    json_object: nullable(Type.Boolean(), { description: "With true the answer is any JSON object." }),
    disable_fallback: Type.Optional(
      Type.Boolean({
        default: false,
        description: "Accepted without use: there is nothing to fall back to.",
      }),
    ),
    disable_any_whitespace: Type.Optional(
      Type.Boolean({ default: false, description: "JSON is written without blanks between its parts." }),
    ),
    disable_additional_properties: Type.Optional(
      Type.Boolean({
        default: false,
        description: "Objects have only the properties that their schema names.",
      }),
    ),
    whitespace_pattern: nullable(Type.String(), {
      description: "What may stand between the parts of JSON, as a regular expression.",
    }),
    structural_tag: nullable(Type.String(), {
      description: "The answer is free text with tagged parts that are constrained, described in JSON.",
    }),
    _backend: nullable(Type.String(), { description: "`auto` or `hone`, which are the same." }),
    _backend_was_auto: Type.Optional(Type.Boolean({ default: false, description: "Accepted without use." })),
  },
  { title: "StructuredOutputs" },
);

const logitsProcessorSchema = Type.Union([
  Type.String({ title: "str" }),
  Type.Object(
    {
      qualname: Type.String({ description: "The registered name." }),
      args: nullable(Type.Array(Type.Unknown()), { description: "Its arguments by position." }),
      kwargs: nullable(anyObject, { description: "Its arguments by name." }),
    },
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
    n: nullable(Type.Integer({ minimum: 1, maximum: choiceCountMax })),
    presence_penalty: nullable(Type.Number({ minimum: -2, maximum: 2 })),
    response_format: nullable(responseFormatSchema),
    seed: nullable(Type.Integer({ minimum: -seedMax, maximum: seedMax })),
    stop: nullable(
      Type.Union([Type.String({ title: "str" }), Type.Array(Type.String(), { title: "list[str]" })]),
    ),
    stream: nullable(Type.Boolean()),
    stream_options: nullable(
      Type.Object(
        {
          include_usage: nullable(Type.Boolean(), {
            default: false,
            description: "A last chunk has the usage, and no choices.",
          }),
          continuous_usage_stats: nullable(Type.Boolean(), {
            default: false,
            description: "With include_usage: every chunk has the usage so far.",
          }),
        },
        { title: "StreamOptions" },
      ),
    ),
    temperature: nullable(Type.Number({ minimum: 0 })),
    top_p: nullable(Type.Number({ exclusiveMinimum: 0, maximum: 1 })),
    tools: nullable(Type.Array(toolSchema)),
    tool_choice: nullable(toolChoiceSchema),
    reasoning_effort: nullable(Type.Enum(["none", "minimal", "low", "medium", "high", "xhigh", "max"])),
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
    prompt_logprobs: nullable(Type.Integer({ minimum: 0, maximum: 20 })),
    allowed_token_ids: nullable(Type.Array(Type.Integer({ minimum: 0 }))),
    bad_words: Type.Optional(Type.Array(Type.String())),
    echo: Type.Optional(Type.Boolean()),
    add_generation_prompt: Type.Optional(Type.Boolean()),
    continue_final_message: Type.Optional(Type.Boolean()),
    add_special_tokens: Type.Optional(Type.Boolean()),
    documents: nullable(Type.Array(Type.Object({}, { additionalProperties: Type.String() }))),
    chat_template: nullable(Type.String()),
    chat_template_kwargs: nullable(anyObject),
    mm_processor_kwargs: nullable(anyObject),
    structured_outputs: nullable(structuredOutputsSchema),
    priority: Type.Optional(Type.Integer()),
    request_id: Type.Optional(Type.String({ minLength: 1, maxLength: 256 })),
    logits_processors: nullable(Type.Array(logitsProcessorSchema, { maxItems: 16 })),
    return_tokens_as_token_ids: nullable(Type.Boolean()),
    return_token_ids: nullable(Type.Boolean()),
    cache_salt: nullable(Type.String({ minLength: 1, maxLength: 1024 })),
    kv_transfer_params: nullable(anyObject),
    vendor_xargs: nullable(extraArguments),
    vllm_xargs: nullable(extraArguments),
    ...foreignSchemas,
  },
  { title: "ChatCompletionRequest" },
);

export type ChatRequestBody = Static<typeof chatRequestSchema>;

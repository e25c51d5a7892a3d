// A request for a response as OpenAI's Responses API spells it: every field with its type, range, default and what it does.
// What has an equal in a chat request is read as that; fields of a chat request that have no equal here may be sent too.
import { Type, type Static } from "typebox";
import { documentedField } from "../chat/chat-documentation.ts";
import { foreignFieldNames } from "../chat/fields/foreign-fields.ts";
import { nullable } from "../nullable.ts";

/** An object whose unknown keys are kept. */
const open = { additionalProperties: true };
const anyObject = Type.Object({}, open);

const part = Type.Object(
  {
    type: Type.String({ description: "`input_text`, `output_text` or `refusal`." }),
  },
  { ...open, title: "InputPart" },
);

/** An item of any type that is served; which members it must have is checked apart. */
const itemSchema = Type.Object(
  {
    type: nullable(Type.String(), {
      default: "message",
      description:
        "`message`, `function_call`, `function_call_output`, `custom_tool_call`, `custom_tool_call_output` or `reasoning`.",
    }),
    role: nullable(Type.String(), { description: "Of a message: user, assistant, system or developer." }),
    content: nullable(
      Type.Union([Type.String({ title: "str" }), Type.Array(part, { title: "list[InputPart]" })]),
      {
        description:
          "Of a message: its text, or parts of it; of a reasoning item, parts of what was thought.",
      },
    ),
    call_id: nullable(Type.String(), { description: "Of a call and of its output: which belong together." }),
    name: nullable(Type.String(), { description: "Of a call: the function's name." }),
    arguments: nullable(Type.String(), { description: "Of a call: its arguments as JSON." }),
    input: nullable(Type.String(), { description: "Of a custom tool's call: its text." }),
    output: nullable(
      Type.Union([Type.String({ title: "str" }), Type.Array(part, { title: "list[InputPart]" })]),
      { description: "Of a call's output: what the function returned." },
    ),
    summary: nullable(Type.Array(anyObject), {
      description: "Of a reasoning item without content: what was thought.",
    }),
  },
  { ...open, title: "InputItem" },
);

const toolSchema = Type.Object(
  {
    type: Type.String({
      description:
        "`function`, or `custom`, which takes one text. Others are left out: the server runs no tools itself.",
    }),
    name: nullable(Type.String(), { description: "What the model calls it by." }),
    description: nullable(Type.String(), { description: "What it does, for the model." }),
    parameters: nullable(anyObject, { description: "JSON Schema of the arguments." }),
    strict: nullable(Type.Boolean(), { description: "Arguments follow the schema exactly." }),
    format: nullable(
      Type.Object(
        {
          type: Type.String({ description: "`text`, or `grammar`." }),
          syntax: nullable(Type.String(), { description: "Of a grammar: `lark` or `regex`." }),
          definition: nullable(Type.String(), { description: "Of a grammar: what every call keeps." }),
        },
        { ...open, title: "CustomToolFormat" },
      ),
      { description: "Of a custom tool: what its text is held to." },
    ),
  },
  { ...open, title: "ResponseTool" },
);

const toolChoiceSchema = Type.Union([
  Type.Enum(["none", "auto", "required"]),
  Type.Object(
    {
      type: Type.String({ description: "`function`, `custom` or `allowed_tools`." }),
      name: nullable(Type.String(), { description: "One of the tools' names." }),
      mode: nullable(Type.Enum(["auto", "required"]), {
        description: "Of allowed tools: whether one of them must be called.",
      }),
      tools: nullable(Type.Array(anyObject), { description: "Tools that may be called, by type and name." }),
    },
    { ...open, title: "ToolChoiceObject" },
  ),
]);

const textSchema = Type.Object(
  {
    format: nullable(
      Type.Object(
        {
          type: Type.Enum(["text", "json_object", "json_schema"], {
            description: "What the answer is held to.",
          }),
          name: nullable(Type.String(), { description: "For people; nothing depends on it." }),
          description: nullable(Type.String(), { description: "For people; nothing depends on it." }),
          schema: nullable(anyObject, { description: "With `json_schema`: the JSON Schema." }),
          strict: nullable(Type.Boolean(), {
            description: "Every schema is kept exactly, whatever this says.",
          }),
        },
        { ...open, title: "TextFormat" },
      ),
      { "x-default": "text", description: "The form that the answer must have." },
    ),
    verbosity: nullable(Type.Enum(["low", "medium", "high"]), {
      default: "medium",
      description: "Accepted without use: models here have one way.",
    }),
  },
  { title: "TextConfig" },
);

const reasoningSchema = Type.Object(
  {
    // What is added to a schema is lost with the mark that it is optional.
    effort: Type.Optional(documentedField("reasoning_effort")),
    summary: nullable(Type.Enum(["auto", "concise", "detailed"]), {
      description: "Accepted without use: what was thought is answered in full.",
    }),
    generate_summary: nullable(Type.Enum(["auto", "concise", "detailed"]), {
      description: "The same by its older name.",
    }),
  },
  { title: "Reasoning" },
);

/** What OpenAI lets a client ask for beside the answer. */
const includables: readonly string[] = [
  "message.output_text.logprobs",
  "reasoning.encrypted_content",
  "file_search_call.results",
  "web_search_call.results",
  "web_search_call.action.sources",
  "message.input_image.image_url",
  "computer_call_output.output.image_url",
  "code_interpreter_call.outputs",
];

/** What of a list of these this server has never heard of. */
export function unknownIncludes(include: readonly string[]): readonly string[] {
  return include.filter((one) => !includables.includes(one));
}

/** The types of tools that a model can be shown. */
export function isShownType(type: unknown): type is "function" | "custom" {
  return type === "function" || type === "custom";
}

/** Fields of a chat request that mean here what they mean there. */
export const chatFieldNames = [
  "model",
  "parallel_tool_calls",
  "temperature",
  "top_p",
  "user",
  "seed",
  "stop",
  "stop_token_ids",
  "include_stop_str_in_output",
  "ignore_eos",
  "min_tokens",
  "top_k",
  "min_p",
  "frequency_penalty",
  "presence_penalty",
  "repetition_penalty",
  "logit_bias",
  "allowed_token_ids",
  "bad_words",
  "logits_processors",
  "vendor_xargs",
  "vllm_xargs",
  "structured_outputs",
  "skip_special_tokens",
  "truncate_prompt_tokens",
  "add_special_tokens",
  "documents",
  "chat_template",
  "chat_template_kwargs",
  "include_reasoning",
  "priority",
  "request_id",
  "cache_salt",
  ...foreignFieldNames,
] as const;

type ChatFieldName = (typeof chatFieldNames)[number];

/** Whoever reads them as a chat request checks what they hold; marked anew as optional for the same reason. */
const chatField = (name: ChatFieldName) => Type.Optional(Type.Unsafe<unknown>(documentedField(name)));

const chatFields = Object.fromEntries(chatFieldNames.map((name) => [name, chatField(name)])) as Readonly<
  // The entries have these names.
  Record<ChatFieldName, ReturnType<typeof chatField>>
>;

const unused = "Accepted without use.";
const noState = "Refused: nothing is kept between requests.";

export const responsesRequestSchema = Type.Object(
  {
    input: Type.Union([Type.String({ title: "str" }), Type.Array(itemSchema, { title: "list[InputItem]" })], {
      description: "A user's text, or the conversation so far as items, oldest first.",
      "x-range": "at most 4,096 items, unless configured otherwise",
      examples: ["What is the capital of France?"],
    }),
    instructions: nullable(Type.String(), {
      "x-default": "none",
      description: "A system message before the input.",
      examples: ["Answer in one word."],
    }),
    ...chatFields,
    max_output_tokens: nullable(Type.Integer({ minimum: 1 }), {
      "x-default": "the model's own, else all the room",
      description: "Most tokens of the answer; cut to the room that is left.",
      examples: [100],
    }),
    tools: nullable(Type.Array(toolSchema), {
      "x-default": "none",
      "x-range": "at most 1,024 unless configured otherwise",
      description:
        "Functions and custom tools that the chat template shows to the model; the header `x-hone-notice` names those that are left out.",
      examples: [[{ type: "function", name: "weather", parameters: { type: "object" } }]],
    }),
    tool_choice: nullable(toolChoiceSchema, {
      "x-default": "as in a chat request",
      description:
        "Whether the answer may call tools (auto), must (required, or a tool by name) or must not (none), and which (allowed_tools).",
      examples: ["auto"],
    }),
    text: nullable(textSchema, {
      "x-default": "free text",
      description: "What the answer's text is held to.",
      examples: [{ format: { type: "json_object" } }],
    }),
    reasoning: nullable(reasoningSchema, {
      "x-default": "the template's own",
      description: "How much the model is to think.",
      examples: [{ effort: "low" }],
    }),
    top_logprobs: nullable(Type.Integer({ minimum: 0, maximum: 20 }), {
      default: 0,
      description: "Returns each token's log-probability, with so many alternatives.",
      examples: [3],
    }),
    include: nullable(Type.Array(Type.String()), {
      default: [],
      description:
        "What the answer shows beside its text: `message.output_text.logprobs` has log-probabilities, all others ask for what there never is; the header `x-hone-notice` names those that are not known.",
      examples: [["message.output_text.logprobs"]],
    }),
    stream: nullable(Type.Boolean(), {
      default: false,
      description: "Answers as server-sent events.",
      examples: [true],
    }),
    stream_options: nullable(anyObject, {
      default: {},
      description: unused,
      examples: [{ include_obfuscation: false }],
    }),
    metadata: nullable(Type.Object({}, { additionalProperties: Type.String() }), {
      default: {},
      description: "Comes back with the answer.",
      examples: [{ topic: "demo" }],
    }),
    truncation: nullable(Type.Enum(["auto", "disabled"]), {
      default: "disabled",
      description:
        "With auto the last tokens of a prompt that is too long are kept, otherwise it is refused.",
      examples: ["auto"],
    }),
    store: nullable(Type.Boolean(), {
      default: false,
      description:
        "Whether the answer can be asked for later; it cannot: true is answered as false, and the header `x-hone-notice` says so.",
      examples: [false],
    }),
    previous_response_id: nullable(Type.String(), { "x-default": "none", description: noState }),
    conversation: nullable(Type.Unknown(), { "x-default": "none", description: noState }),
    background: nullable(Type.Boolean(), { default: false, description: `With true ${lower(noState)}` }),
    prompt: nullable(anyObject, { "x-default": "none", description: noState }),
    context_management: nullable(Type.Array(anyObject), { default: [], description: noState }),
    moderation: nullable(anyObject, { "x-default": "none", description: "Refused: nothing is moderated." }),
    max_tool_calls: nullable(Type.Integer({ minimum: 0 }), {
      "x-default": "none",
      description: "Accepted without use: it limits tools that the server runs, and it runs none.",
    }),
    service_tier: nullable(Type.Enum(["auto", "default", "flex", "scale", "priority"]), {
      default: "auto",
      description: unused,
    }),
    prompt_cache_key: nullable(Type.String(), { "x-default": "none", description: unused }),
    prompt_cache_retention: nullable(Type.String(), { "x-default": "none", description: unused }),
    prompt_cache_options: nullable(anyObject, { "x-default": "none", description: unused }),
    safety_identifier: nullable(Type.String(), { "x-default": "none", description: unused }),
  },
  { title: "ResponseRequest" },
);

export type ResponsesRequestBody = Static<typeof responsesRequestSchema>;

function lower(text: string): string {
  return text.charAt(0).toLowerCase() + text.slice(1);
}

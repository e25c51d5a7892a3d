// Fields of a request in Anthropic's Messages API, with type, range, default and description. A field with a
// counterpart in a chat request has the counterpart's meaning; the other fields of a chat request are accepted too.
import { Type } from "typebox";
import { isEmpty, never } from "../body.ts";
import { sharedFields, sharedNames, type SharedName } from "../chat/shared-fields.ts";
import { anyObject, named } from "../fields/any-object.ts";
import { field, schemaOf, type ValuesOf } from "../fields/field.ts";
import { nullable } from "../nullable.ts";

/** Defines a member that accepts any value; other code may check it. */
const free = (description: string) => Type.Optional(Type.Unknown({ description }));

const cached = nullable(anyObject, {
  description: "Accepted without use: prompts are always cached.",
});

const textBlock = Type.Object(
  {
    type: Type.String({ description: "`text`." }),
    text: nullable(Type.String(), { description: "The text." }),
    cache_control: cached,
    citations: free("Accepted without use."),
  },
  { ...named, title: "AnthropicTextBlock" },
);

/** A text, or a list of text blocks. */
const textOrBlocks = Type.Union([
  Type.String({ title: "str" }),
  Type.Array(textBlock, { title: "list[AnthropicTextBlock]" }),
]);

/** A block of any supported type. Separate code checks that it has the members that its type requires. */
const contentBlock = Type.Object(
  {
    type: Type.String({
      description: "`text`, `thinking`, `redacted_thinking`, `tool_use` or `tool_result`.",
    }),
    text: nullable(Type.String(), { description: "In a text block: the text." }),
    thinking: nullable(Type.String(), { description: "In a thinking block: the thoughts." }),
    signature: nullable(Type.String(), { description: "In a thinking block: accepted without use." }),
    id: nullable(Type.String(), { description: "In a tool call: id that its result refers to." }),
    name: nullable(Type.String(), { description: "In a tool call: the tool's name." }),
    input: nullable(anyObject, { description: "In a tool call: its arguments." }),
    tool_use_id: nullable(Type.String(), { description: "In a tool result: id of the call." }),
    content: nullable(textOrBlocks, { description: "In a tool result: what the tool returned." }),
    is_error: nullable(Type.Boolean(), {
      description:
        "In a tool result: accepted without use, because chat templates have no failed calls. Describe the failure in the content.",
    }),
    cache_control: cached,
    // Members that blocks in answers have.
    citations: free("Accepted without use."),
    caller: free("Accepted without use."),
    data: free("In a redacted thinking block: accepted without use."),
  },
  { ...named, title: "AnthropicContentBlock" },
);

const messageSchema = Type.Object(
  {
    role: Type.Enum(["user", "assistant", "system"], {
      description:
        "Consecutive messages of the same role form one turn. The model continues a last message of the assistant.",
    }),
    content: Type.Union(
      [Type.String({ title: "str" }), Type.Array(contentBlock, { title: "list[AnthropicContentBlock]" })],
      { description: "A text, or blocks." },
    ),
  },
  { ...named, title: "AnthropicMessageParam" },
);

const toolSchema = Type.Object(
  {
    type: nullable(Type.String(), {
      default: "custom",
      description: "`custom`. Tools of other types are left out: the server runs no tools itself.",
    }),
    name: nullable(Type.String(), { description: "Name of the tool, as the model sees it." }),
    description: nullable(Type.String(), { description: "Description of the tool, for the model." }),
    input_schema: nullable(anyObject, { description: "JSON Schema of the arguments." }),
    strict: nullable(Type.Boolean(), { description: "If true, arguments satisfy the schema exactly." }),
    cache_control: cached,
  },
  { ...named, title: "AnthropicTool" },
);

const toolChoiceSchema = Type.Object(
  {
    type: Type.Enum(["auto", "any", "tool", "none"], {
      description: "`any` requires a call, `tool` a call of the named tool.",
    }),
    name: nullable(Type.String(), { description: "With `tool`: name of one of the tools." }),
    disable_parallel_tool_use: nullable(Type.Boolean(), {
      default: false,
      description: "Ends the answer after its first call.",
    }),
  },
  { ...named, title: "AnthropicToolChoice" },
);

const thinkingSchema = Type.Object(
  {
    type: Type.Enum(["enabled", "adaptive", "disabled"], {
      description: "Permission to think first; the model and its template decide whether it thinks.",
    }),
    budget_tokens: nullable(Type.Integer({ minimum: 1 }), {
      description:
        "With `enabled`: maximum number of thinking tokens, if the vocabulary has `<think>` and `</think>`. For other models only `max_tokens` applies.",
    }),
    display: nullable(Type.Enum(["summarized", "omitted"]), {
      default: "summarized",
      description: "`omitted` leaves thinking blocks out of the answer; otherwise they contain all thoughts.",
    }),
  },
  { ...named, title: "AnthropicThinkingConfig" },
);

const formatSchema = Type.Object(
  {
    type: Type.Enum(["json_schema"], { description: "Format of the answer's text." }),
    schema: Type.Object({}, { additionalProperties: true, description: "The JSON Schema." }),
  },
  { ...named, title: "AnthropicOutputFormat" },
);

const outputSchema = Type.Object(
  {
    effort: nullable(Type.Enum(["low", "medium", "high", "xhigh", "max"]), {
      "x-default": "the template's own",
      description: "How much the model should think, if it may think.",
    }),
    format: nullable(formatSchema, {
      "x-default": "free text",
      description: "Format of the answer's text.",
    }),
  },
  { ...named, title: "AnthropicOutputConfig" },
);

/** Fields of a chat request that have another name in this API. */
const renamed = [
  "stop",
  "user",
  "parallel_tool_calls",
  "include_reasoning",
  "thinking_token_budget",
] as const satisfies readonly SharedName[];

type UnrenamedName = Exclude<SharedName, (typeof renamed)[number]>;

/** Fields of a chat request that have the same name and meaning in this API. */
export const unrenamedNames: readonly UnrenamedName[] = sharedNames.filter(
  (name): name is UnrenamedName => !renamed.some((one) => one === name),
);

/** Names of those shared fields that affect how a prompt is rendered. */
const promptNames = [
  "model",
  "documents",
  "chat_template",
  "chat_template_kwargs",
  "add_special_tokens",
] as const satisfies readonly UnrenamedName[];

/** Fields for the prompt, which requests to count tokens have too. */
const promptFields = {
  messages: field("read", Type.Array(messageSchema, { minItems: 1 }), {
    about: "The conversation so far, oldest first.",
    range: "at most 4,096, of at most 1,024 blocks each, unless configured otherwise",
    example: [{ role: "user", content: "What is the capital of France?" }],
  }),
  system: field("read", nullable(textOrBlocks), {
    about:
      "System message before the conversation. Blocks that begin with `x-anthropic-billing-header:` are dropped: they mean nothing to a model, and would prevent prompt caching.",
    otherwise: "none",
    example: "Answer in one word.",
  }),
  tools: field("read", nullable(Type.Array(toolSchema)), {
    about:
      "Tools that the chat template shows to the model; the header `x-hone-notice` names tools that were left out.",
    range: "at most 1,024 unless configured otherwise",
    otherwise: "none",
    example: [
      { name: "weather", input_schema: { type: "object", properties: { city: { type: "string" } } } },
    ],
  }),
  tool_choice: field("read", nullable(toolChoiceSchema), {
    about: "Tool calls in the answer: allowed, required, or forbidden.",
    otherwise: "as in a chat request",
    example: { type: "auto" },
  }),
  thinking: field("read", nullable(thinkingSchema), {
    about: "Thinking before the answer.",
    otherwise: "no thinking, through the template's `enable_thinking`",
    example: { type: "enabled", budget_tokens: 1024 },
  }),
  output_config: field("read", nullable(outputSchema), {
    about: "Format of the answer, and how much the model should think.",
    otherwise: "none",
    example: { format: { type: "json_schema", schema: { type: "object" } } },
  }),
  output_format: field("read", nullable(formatSchema), {
    about: "Older name of output_config.format.",
    otherwise: "none",
    example: { type: "json_schema", schema: { type: "object" } },
  }),
  cache_control: field(null, nullable(anyObject), {
    about: "Accepted without use: prompts are always cached.",
    otherwise: "none",
    example: { type: "ephemeral" },
  }),
  context_management: field("read", nullable(anyObject), {
    about:
      "Not applied: the conversation is used as sent. If there are edits, the header `x-hone-notice` says so.",
    otherwise: "none",
    example: { edits: [{ type: "clear_thinking_20251015", keep: "all" }] },
  }),
  mcp_servers: field(null, nullable(Type.Array(Type.Unknown())), {
    about: "Refused unless empty: the server does not call other servers.",
    default: [],
    refusedUnless: isEmpty,
    cure: "call them from your own program, and send their tools as tools",
  }),
};

export const messagesFields = {
  ...promptFields,
  ...sharedFields(unrenamedNames),
  max_tokens: field("read", Type.Integer({ minimum: 1 }), {
    about: "Maximum number of answer tokens, thinking included; reduced to the remaining context.",
    example: 1024,
  }),
  stop_sequences: field("read", nullable(Type.Array(Type.String())), {
    about: "Texts that end the answer and are not part of it; `stop_sequence` names the one that did.",
    range: "at most 1,024 texts of 4,096 characters each, none empty, unless configured otherwise",
    default: [],
    example: ["\n\n"],
  }),
  stream: field("answer form", nullable(Type.Boolean()), {
    about: "Answers as server-sent events.",
    default: false,
    example: true,
  }),
  metadata: field(
    "read",
    nullable(
      Type.Object(
        {
          user_id: nullable(Type.String(), {
            description: "The client's name for its user; accepted without use.",
          }),
        },
        { ...named, title: "AnthropicMetadata" },
      ),
    ),
    { about: "Client metadata of the request.", otherwise: "none", example: { user_id: "somebody" } },
  ),
  service_tier: field(null, nullable(Type.Enum(["auto", "standard_only"])), {
    about: "Accepted without use.",
    default: "auto",
  }),
  container: field(null, nullable(Type.Unknown()), {
    about: "Refused: the server runs no code.",
    otherwise: "none",
    refusedUnless: never,
  }),
};

export const countFields = { ...promptFields, ...sharedFields(promptNames) };

export const messagesRequestSchema = schemaOf("AnthropicMessageRequest", messagesFields);
export const countRequestSchema = schemaOf("AnthropicCountRequest", countFields);

export type CountRequestBody = ValuesOf<typeof countFields>;
export type MessagesRequestBody = ValuesOf<typeof messagesFields>;

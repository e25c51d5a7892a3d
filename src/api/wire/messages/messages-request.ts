// Fields of a request in Anthropic's Messages API, with type, range, default and description. A field with a
// counterpart in a chat request has the same meaning as there. All other fields of a chat request are accepted too.
import { Type } from "typebox";
import { isEmpty, never } from "../body.ts";
import { sharedFields, sharedNames, type SharedName } from "../chat/shared-fields.ts";
import { anyObject, named } from "../fields/any-object.ts";
import { field, schemaOf, type ValuesOf } from "../fields/field.ts";
import { nullable } from "../nullable.ts";

/** Defines a member that accepts any value. Other code may check the value. */
const free = (description: string) => Type.Optional(Type.Unknown({ description }));

const cached = nullable(anyObject, {
  description: "Accepted without effect: the server caches all prompts.",
});

const textBlock = Type.Object(
  {
    type: Type.String({ description: "Always `text`." }),
    text: nullable(Type.String(), { description: "The text." }),
    cache_control: cached,
    citations: free("Accepted, but has no effect."),
  },
  { ...named, title: "AnthropicTextBlock" },
);

/** A text, or an equivalent list of text blocks. */
const textOrBlocks = Type.Union([
  Type.String({ title: "str" }),
  Type.Array(textBlock, { title: "list[AnthropicTextBlock]" }),
]);

/** A content block of any supported type. Other code checks that it has the members that its type requires. */
const contentBlock = Type.Object(
  {
    type: Type.String({
      description: "Type of the block: `text`, `thinking`, `redacted_thinking`, `tool_use` or `tool_result`.",
    }),
    text: nullable(Type.String(), { description: "In a text block: the text." }),
    thinking: nullable(Type.String(), { description: "In a thinking block: the thoughts." }),
    signature: nullable(Type.String(), { description: "In a thinking block: accepted without effect." }),
    id: nullable(Type.String(), {
      description: "In a tool call: its id, which the result repeats as `tool_use_id`.",
    }),
    name: nullable(Type.String(), { description: "In a tool call: name of the called tool." }),
    input: nullable(anyObject, { description: "In a tool call: its arguments." }),
    tool_use_id: nullable(Type.String(), { description: "In a tool result: id of the tool call." }),
    content: nullable(textOrBlocks, { description: "In a tool result: content that the tool returned." }),
    is_error: nullable(Type.Boolean(), {
      description:
        "In a tool result: accepted without effect, because chat templates cannot mark a call as failed. Describe the failure in the content.",
    }),
    cache_control: cached,
    // Accepts members that only blocks in answers have, because clients send such blocks back.
    citations: free("Accepted, but has no effect."),
    caller: free("Accepted, but has no effect."),
    data: free("In a redacted thinking block: accepted without effect."),
  },
  { ...named, title: "AnthropicContentBlock" },
);

const messageSchema = Type.Object(
  {
    role: Type.Enum(["user", "assistant", "system"], {
      description:
        "Role of the author. Consecutive messages with the same role form one turn. If the last message is the assistant's, the model continues it.",
    }),
    content: Type.Union(
      [Type.String({ title: "str" }), Type.Array(contentBlock, { title: "list[AnthropicContentBlock]" })],
      { description: "Content of the message: a string, or blocks." },
    ),
  },
  { ...named, title: "AnthropicMessageParam" },
);

const toolSchema = Type.Object(
  {
    type: nullable(Type.String(), {
      default: "custom",
      description: "`custom`. Tools of other types are left out, because the server runs no tools itself.",
    }),
    name: nullable(Type.String(), { description: "Name of the tool, as the model sees it." }),
    description: nullable(Type.String(), { description: "Description of the tool, for the model." }),
    input_schema: nullable(anyObject, { description: "JSON Schema of the arguments." }),
    strict: nullable(Type.Boolean(), {
      description: "True to constrain the arguments of calls, so that they satisfy the schema exactly.",
    }),
    cache_control: cached,
  },
  { ...named, title: "AnthropicTool" },
);

const toolChoiceSchema = Type.Object(
  {
    type: Type.Enum(["auto", "any", "tool", "none"], {
      description:
        "`auto` lets the model decide, `any` requires a tool call, `tool` requires a call of the named tool, `none` forbids tool calls.",
    }),
    name: nullable(Type.String(), { description: "With type `tool`: name of the tool that must be called." }),
    disable_parallel_tool_use: nullable(Type.Boolean(), {
      default: false,
      description: "True to end the answer after its first tool call.",
    }),
  },
  { ...named, title: "AnthropicToolChoice" },
);

const thinkingSchema = Type.Object(
  {
    type: Type.Enum(["enabled", "adaptive", "disabled"], {
      description:
        "`enabled` and `adaptive` allow the model to think before it answers; the model and its chat template determine whether it thinks. `disabled` forbids thinking.",
    }),
    budget_tokens: nullable(Type.Integer({ minimum: 1 }), {
      description:
        "With type `enabled`: maximum number of thinking tokens. Applies to models whose vocabulary has `<think>` and `</think>`; for other models, only `max_tokens` limits thinking.",
    }),
    display: nullable(Type.Enum(["summarized", "omitted"]), {
      default: "summarized",
      description:
        "With `omitted`, the answer has no thinking blocks. With `summarized`, it has thinking blocks with the complete thoughts: Hone does not summarize them, despite the name, which is that of Anthropic's API.",
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
      description: "How much the model should think before it answers, if thinking is allowed.",
    }),
    format: nullable(formatSchema, {
      "x-default": "free text",
      description: "Format of the answer's text.",
    }),
  },
  { ...named, title: "AnthropicOutputConfig" },
);

/** Fields of a chat request that have another name in the Messages API. */
const renamed = [
  "stop",
  "user",
  "parallel_tool_calls",
  "include_reasoning",
  "thinking_token_budget",
] as const satisfies readonly SharedName[];

type UnrenamedName = Exclude<SharedName, (typeof renamed)[number]>;

/** Fields of a chat request that have the same name and meaning in the Messages API. */
export const unrenamedNames: readonly UnrenamedName[] = sharedNames.filter(
  (name): name is UnrenamedName => !renamed.some((one) => one === name),
);

/** Those of the fields in {@link unrenamedNames} that affect how the prompt is rendered. */
const promptNames = [
  "model",
  "documents",
  "chat_template",
  "chat_template_kwargs",
  "add_special_tokens",
] as const satisfies readonly UnrenamedName[];

/** Fields that determine the prompt. Requests to count tokens have them too. */
const promptFields = {
  messages: field("read", Type.Array(messageSchema, { minItems: 1 }), {
    about: "The conversation so far, oldest first.",
    range: "at most 4,096, of at most 1,024 blocks each, unless configured otherwise",
    example: [{ role: "user", content: "What is the capital of France?" }],
  }),
  system: field("read", nullable(textOrBlocks), {
    about:
      "System message that precedes the conversation. Blocks that begin with `x-anthropic-billing-header:` are dropped, because they mean nothing to a model and would prevent prompt caching.",
    otherwise: "none",
    example: "Answer in one word.",
  }),
  tools: field("read", nullable(Type.Array(toolSchema)), {
    about:
      "Tools that the chat template shows to the model. Tools of other types than `custom` are left out; the response header `x-hone-notice` names them.",
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
    about: "Allows or forbids thinking before the answer, and limits it.",
    otherwise: "no thinking: the chat template receives `enable_thinking` as false",
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
    about: "Accepted without effect: the server caches all prompts.",
    otherwise: "none",
    example: { type: "ephemeral" },
  }),
  context_management: field("read", nullable(anyObject), {
    about:
      "Not applied: the conversation is used as sent. If the field asks for edits, the response header `x-hone-notice` says that they were not applied.",
    otherwise: "none",
    example: { edits: [{ type: "clear_thinking_20251015", keep: "all" }] },
  }),
  mcp_servers: field(null, nullable(Type.Array(Type.Unknown())), {
    about: "Refused unless empty, because the server does not call MCP servers.",
    default: [],
    refusedUnless: isEmpty,
    cure: "call them from your own program, and send their tools as tools",
  }),
};

export const messagesFields = {
  ...promptFields,
  ...sharedFields(unrenamedNames),
  max_tokens: field("read", Type.Integer({ minimum: 1 }), {
    about:
      "Maximum number of answer tokens, including thinking. Reduced to the remaining context if it is larger.",
    example: 1024,
  }),
  stop_sequences: field("read", nullable(Type.Array(Type.String())), {
    about:
      "Stop strings: the answer ends as soon as it contains one of them, and excludes it. The answer's `stop_sequence` is the string that ended it.",
    range: "at most 1,024 strings of 4,096 characters each, none empty, unless configured otherwise",
    default: [],
    example: ["\n\n"],
  }),
  stream: field("answer form", nullable(Type.Boolean()), {
    about: "True to receive the answer as server-sent events.",
    default: false,
    example: true,
  }),
  metadata: field(
    "read",
    nullable(
      Type.Object(
        {
          user_id: nullable(Type.String(), {
            description: "The client's name for its user; accepted without effect.",
          }),
        },
        { ...named, title: "AnthropicMetadata" },
      ),
    ),
    {
      about: "Information about the client; accepted without effect.",
      otherwise: "none",
      example: { user_id: "somebody" },
    },
  ),
  service_tier: field(null, nullable(Type.Enum(["auto", "standard_only"])), {
    about: "Accepted, but has no effect.",
    default: "auto",
  }),
  container: field(null, nullable(Type.Unknown()), {
    about: "Refused, because the server runs no code.",
    otherwise: "none",
    refusedUnless: never,
  }),
};

export const countFields = { ...promptFields, ...sharedFields(promptNames) };

export const messagesRequestSchema = schemaOf("AnthropicMessageRequest", messagesFields);
export const countRequestSchema = schemaOf("AnthropicCountRequest", countFields);

export type CountRequestBody = ValuesOf<typeof countFields>;
export type MessagesRequestBody = ValuesOf<typeof messagesFields>;

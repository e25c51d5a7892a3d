// A request for a message as Anthropic's Messages API spells it: every field with its type, range, default and what it does.
// What has an equal in a chat request is read as that; fields of a chat request that have no equal here may be sent too.
import { Type } from "typebox";
import { isEmpty, never } from "../body.ts";
import { borrowedFields, borrowedNames, type BorrowedName } from "../chat/borrowed-fields.ts";
import { anyObject, named } from "../fields/any-object.ts";
import { field, schemaOf, type ValuesOf } from "../fields/field.ts";
import { nullable } from "../nullable.ts";

/** A member that is accepted, and checked elsewhere or not at all. */
const free = (description: string) => Type.Optional(Type.Unknown({ description }));

const cached = nullable(anyObject, {
  description: "Accepted without use: what was computed of a prompt is kept whatever this says.",
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

/** A text, or blocks of it. */
const textOrBlocks = Type.Union([
  Type.String({ title: "str" }),
  Type.Array(textBlock, { title: "list[AnthropicTextBlock]" }),
]);

/** A block of any type that is served; which members it must have is checked apart. */
const contentBlock = Type.Object(
  {
    type: Type.String({
      description: "`text`, `thinking`, `redacted_thinking`, `tool_use` or `tool_result`.",
    }),
    text: nullable(Type.String(), { description: "Of a text." }),
    thinking: nullable(Type.String(), { description: "Of a thought: what was thought." }),
    signature: nullable(Type.String(), { description: "Of a thought: accepted without use." }),
    id: nullable(Type.String(), { description: "Of a call: what its result names." }),
    name: nullable(Type.String(), { description: "Of a call: the tool's name." }),
    input: nullable(anyObject, { description: "Of a call: its arguments." }),
    tool_use_id: nullable(Type.String(), { description: "Of a result: of which call." }),
    content: nullable(textOrBlocks, { description: "Of a result: what the tool returned." }),
    is_error: nullable(Type.Boolean(), {
      description:
        "Of a result: accepted without use, for templates know no failed calls. Say it in the content.",
    }),
    cache_control: cached,
    // Members that the blocks of answers have.
    citations: free("Accepted without use."),
    caller: free("Accepted without use."),
    data: free("Of a redacted thought: accepted without use."),
  },
  { ...named, title: "AnthropicContentBlock" },
);

const messageSchema = Type.Object(
  {
    role: Type.Enum(["user", "assistant", "system"], {
      description:
        "Messages of the user that follow each other are one turn, as are those of the assistant. A last message of the assistant is gone on with.",
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
      description:
        "`custom`. Others are left out: the server runs no tools itself, and knows none by its type.",
    }),
    name: nullable(Type.String(), { description: "What the model calls it by." }),
    description: nullable(Type.String(), { description: "What it does, for the model." }),
    input_schema: nullable(anyObject, { description: "JSON Schema of the arguments." }),
    strict: nullable(Type.Boolean(), { description: "Arguments follow the schema exactly." }),
    cache_control: cached,
  },
  { ...named, title: "AnthropicTool" },
);

const toolChoiceSchema = Type.Object(
  {
    type: Type.Enum(["auto", "any", "tool", "none"], {
      description: "`any` asks for a call, `tool` for one of the tool that is named.",
    }),
    name: nullable(Type.String(), { description: "With `tool`: one of the tools' names." }),
    disable_parallel_tool_use: nullable(Type.Boolean(), {
      default: false,
      description: "Ends the answer behind its first call.",
    }),
  },
  { ...named, title: "AnthropicToolChoice" },
);

const thinkingSchema = Type.Object(
  {
    type: Type.Enum(["enabled", "adaptive", "disabled"], {
      description: "Whether the model may think first; whether it does is up to it and its template.",
    }),
    budget_tokens: nullable(Type.Integer({ minimum: 1 }), {
      description:
        "With `enabled`: most tokens of a thought, where the vocabulary has `<think>` and `</think>`; of other models `max_tokens` alone limits it.",
    }),
    display: nullable(Type.Enum(["summarized", "omitted"]), {
      default: "summarized",
      description:
        "With `omitted` no thinking blocks are answered; else what was thought is answered in full.",
    }),
  },
  { ...named, title: "AnthropicThinkingConfig" },
);

const formatSchema = Type.Object(
  {
    type: Type.Enum(["json_schema"], { description: "What the answer's text is held to." }),
    schema: Type.Object({}, { additionalProperties: true, description: "The JSON Schema." }),
  },
  { ...named, title: "AnthropicOutputFormat" },
);

const outputSchema = Type.Object(
  {
    effort: nullable(Type.Enum(["low", "medium", "high", "xhigh", "max"]), {
      "x-default": "the template's own",
      description: "How much the model is to think, where it may.",
    }),
    format: nullable(formatSchema, {
      "x-default": "free text",
      description: "The form of the answer's text.",
    }),
  },
  { ...named, title: "AnthropicOutputConfig" },
);

/** Fields of a chat request that have a name of their own here. */
const renamed = [
  "stop",
  "user",
  "parallel_tool_calls",
  "include_reasoning",
  "thinking_token_budget",
] as const satisfies readonly BorrowedName[];

type LentName = Exclude<BorrowedName, (typeof renamed)[number]>;

/** Fields of a chat request that mean here what they mean there. */
export const lentNames: readonly LentName[] = borrowedNames.filter(
  (name): name is LentName => !renamed.some((one) => one === name),
);

/** Of those, the ones that say how a prompt is rendered. */
const promptNames = [
  "model",
  "documents",
  "chat_template",
  "chat_template_kwargs",
  "add_special_tokens",
] as const satisfies readonly LentName[];

/** What a request says of its prompt, which is what can be counted. */
const promptFields = {
  messages: field("read", Type.Array(messageSchema, { minItems: 1 }), {
    about: "The conversation so far, oldest first.",
    range: "at most 4,096, of at most 1,024 blocks each, unless configured otherwise",
    example: [{ role: "user", content: "What is the capital of France?" }],
  }),
  system: field("read", nullable(textOrBlocks), {
    about:
      "A system message before the conversation. A block that begins with `x-anthropic-billing-header:` is left out: it says nothing to a model, and would keep prompts from being shared.",
    otherwise: "none",
    example: "Answer in one word.",
  }),
  tools: field("read", nullable(Type.Array(toolSchema)), {
    about:
      "Tools that the chat template shows to the model; the header `x-hone-notice` names those that are left out.",
    range: "at most 1,024 unless configured otherwise",
    otherwise: "none",
    example: [
      { name: "weather", input_schema: { type: "object", properties: { city: { type: "string" } } } },
    ],
  }),
  tool_choice: field("read", nullable(toolChoiceSchema), {
    about: "Whether the answer may call tools, must, or must not.",
    otherwise: "as in a chat request",
    example: { type: "auto" },
  }),
  thinking: field("read", nullable(thinkingSchema), {
    about: "Whether the model is to think before it answers.",
    otherwise: "it is told not to, by the template's `enable_thinking`",
    example: { type: "enabled", budget_tokens: 1024 },
  }),
  output_config: field("read", nullable(outputSchema), {
    about: "The form of the answer, and how much the model is to think.",
    otherwise: "none",
    example: { format: { type: "json_schema", schema: { type: "object" } } },
  }),
  output_format: field("read", nullable(formatSchema), {
    about: "The same as output_config.format, by its older name.",
    otherwise: "none",
    example: { type: "json_schema", schema: { type: "object" } },
  }),
  cache_control: field(null, nullable(anyObject), {
    about: "Accepted without use: what was computed of a prompt is kept whatever this says.",
    otherwise: "none",
    example: { type: "ephemeral" },
  }),
  context_management: field("read", nullable(anyObject), {
    about:
      "Not applied: the conversation is taken as it was sent, and the header `x-hone-notice` says so where there are edits.",
    otherwise: "none",
    example: { edits: [{ type: "clear_thinking_20251015", keep: "all" }] },
  }),
  mcp_servers: field(null, nullable(Type.Array(Type.Unknown())), {
    about: "Refused unless empty: the server calls no other one.",
    default: [],
    refusedUnless: isEmpty,
    cure: "call them from your own program, and send their tools as tools",
  }),
};

export const messagesFields = {
  ...promptFields,
  ...borrowedFields(lentNames),
  max_tokens: field("read", Type.Integer({ minimum: 1 }), {
    about: "Most tokens of the answer, thoughts included; cut to the room that is left.",
    example: 1024,
  }),
  stop_sequences: field("read", nullable(Type.Array(Type.String())), {
    about: "Texts that end the answer, and are not part of it; `stop_sequence` says which one did.",
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
          user_id: nullable(Type.String(), { description: "Whom the request is for; accepted without use." }),
        },
        { ...named, title: "AnthropicMetadata" },
      ),
    ),
    { about: "What the client says of the request.", otherwise: "none", example: { user_id: "somebody" } },
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

export const countFields = { ...promptFields, ...borrowedFields(promptNames) };

export const messagesRequestSchema = schemaOf("AnthropicMessageRequest", messagesFields);
export const countRequestSchema = schemaOf("AnthropicCountRequest", countFields);

export type CountRequestBody = ValuesOf<typeof countFields>;
export type MessagesRequestBody = ValuesOf<typeof messagesFields>;

// A request for a response as OpenAI's Responses API spells it: every field with its type, range, default and what it does.
// What has an equal in a chat request is read as that; fields of a chat request that have no equal here may be sent too.
import { Type } from "typebox";
import { anyObject, named } from "../fields/any-object.ts";
import { is, isEmpty, never } from "../body.ts";
import { borrowedFields, borrowedNames } from "../chat/borrowed-fields.ts";
import { chatFields } from "../chat/chat-request.ts";
import { field, schemaOf, type ValuesOf } from "../fields/field.ts";
import { tokenLimitRange, tokenLimitSchema } from "../chat/chat-limits.ts";
import { nullable } from "../nullable.ts";

/** A member that is accepted, and checked elsewhere or not at all. */
const free = (description: string) => Type.Optional(Type.Unknown({ description }));

const part = Type.Object(
  {
    type: Type.String({ description: "`input_text`, `output_text` or `refusal`." }),
    text: free("Of a text: the text."),
    refusal: free("Of a refusal: its text."),
    annotations: free("Accepted without use."),
    logprobs: free("Accepted without use."),
  },
  { ...named, title: "InputPart" },
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
    // Members that the items of answers have.
    id: free("Accepted without use."),
    status: free("Accepted without use."),
    phase: free("Accepted without use."),
    encrypted_content: free("Accepted without use."),
  },
  { ...named, title: "InputItem" },
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
        { ...named, title: "CustomToolFormat" },
      ),
      { description: "Of a custom tool: what its text is held to." },
    ),
  },
  { ...named, title: "ResponseTool" },
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
    { ...named, title: "ToolChoiceObject" },
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
          schema: nullable(anyObject, {
            description: "With `json_schema`, and optionally with `json_object`: the JSON Schema.",
          }),
          strict: nullable(Type.Boolean(), {
            description: "Every schema is kept exactly, whatever this says.",
          }),
        },
        { ...named, title: "TextFormat" },
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
    effort: chatFields.reasoning_effort.schema,
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

const refused = "Nothing is kept between requests.";
const unused = "Accepted without use.";

export const responsesFields = {
  input: field(
    "read",
    Type.Union([Type.String({ title: "str" }), Type.Array(itemSchema, { title: "list[InputItem]" })]),
    {
      about: "A user's text, or the conversation so far as items, oldest first.",
      range: "at most 4,096 items, unless configured otherwise",
      example: "What is the capital of France?",
    },
  ),
  instructions: field("read", nullable(Type.String()), {
    about: "A system message before the input.",
    otherwise: "none",
    example: "Answer in one word.",
  }),
  ...borrowedFields(borrowedNames),
  max_output_tokens: field("read", tokenLimitSchema(), {
    about: "Most tokens of the answer; cut to the room that is left.",
    range: tokenLimitRange,
    otherwise: "the model's own, else all the room",
    example: 100,
  }),
  tools: field("read", nullable(Type.Array(toolSchema)), {
    about:
      "Functions and custom tools that the chat template shows to the model; the header `x-hone-notice` names those that are left out.",
    range: "at most 1,024 unless configured otherwise",
    otherwise: "none",
    example: [{ type: "function", name: "weather", parameters: { type: "object" } }],
  }),
  tool_choice: field("read", nullable(toolChoiceSchema), {
    about:
      "Whether the answer may call tools (auto), must (required, or a tool by name) or must not (none), and which (allowed_tools).",
    otherwise: "as in a chat request",
    example: "auto",
  }),
  text: field("read", nullable(textSchema), {
    about: "What the answer's text is held to.",
    otherwise: "free text",
    example: { format: { type: "json_object" } },
  }),
  reasoning: field("read", nullable(reasoningSchema), {
    about: "How much the model is to think.",
    otherwise: "the template's own",
    example: { effort: "low" },
  }),
  top_logprobs: field("read", nullable(Type.Integer({ minimum: 0, maximum: 20 })), {
    about: "Returns each token's log-probability, with so many alternatives.",
    default: 0,
    example: 3,
  }),
  include: field("read", nullable(Type.Array(Type.String())), {
    about:
      "What the answer shows beside its text: `message.output_text.logprobs` has log-probabilities, all others ask for what there never is; the header `x-hone-notice` names those that are not known.",
    default: [],
    example: ["message.output_text.logprobs"],
  }),
  stream: field("answer form", nullable(Type.Boolean()), {
    about: "Answers as server-sent events.",
    default: false,
    example: true,
  }),
  stream_options: field(null, nullable(anyObject), {
    about: unused,
    default: {},
    example: { include_obfuscation: false },
  }),
  metadata: field("answer form", nullable(Type.Object({}, { additionalProperties: Type.String() })), {
    about: "Comes back with the answer.",
    default: {},
    example: { topic: "demo" },
  }),
  truncation: field("read", nullable(Type.Enum(["auto", "disabled"])), {
    about: "With auto the last tokens of a prompt that is too long are kept, otherwise it is refused.",
    default: "disabled",
    example: "auto",
  }),
  store: field("read", nullable(Type.Boolean()), {
    about:
      "Whether the response can be asked for later; it cannot: true is answered as false, and the header `x-hone-notice` says so. False also keeps it from being recorded.",
    default: false,
    example: false,
  }),
  previous_response_id: field(null, nullable(Type.String()), {
    about: refused,
    otherwise: "none",
    refusedUnless: never,
  }),
  conversation: field(null, nullable(Type.Unknown()), {
    about: refused,
    otherwise: "none",
    refusedUnless: never,
  }),
  background: field(null, nullable(Type.Boolean()), {
    about: refused,
    default: false,
    refusedUnless: is(false),
  }),
  prompt: field(null, nullable(anyObject), { about: refused, otherwise: "none", refusedUnless: never }),
  context_management: field(null, nullable(Type.Array(anyObject)), {
    about: refused,
    default: [],
    refusedUnless: isEmpty,
  }),
  moderation: field(null, nullable(anyObject), {
    about: "Nothing is moderated.",
    otherwise: "none",
    refusedUnless: never,
  }),
  max_tool_calls: field(null, nullable(Type.Integer({ minimum: 0 })), {
    about: "Accepted without use: it limits tools that the server runs, and it runs none.",
    otherwise: "none",
  }),
  service_tier: field(null, nullable(Type.Enum(["auto", "default", "flex", "scale", "priority"])), {
    about: unused,
    default: "auto",
  }),
  prompt_cache_key: field(null, nullable(Type.String()), { about: unused, otherwise: "none" }),
  prompt_cache_retention: field(null, nullable(Type.String()), { about: unused, otherwise: "none" }),
  prompt_cache_options: field(null, nullable(anyObject), { about: unused, otherwise: "none" }),
  safety_identifier: field(null, nullable(Type.String()), { about: unused, otherwise: "none" }),
};

export const responsesRequestSchema = schemaOf("ResponseRequest", responsesFields);

export type ResponsesRequestBody = ValuesOf<typeof responsesFields>;

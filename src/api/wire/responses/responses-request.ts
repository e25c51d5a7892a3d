// Fields of a request in OpenAI's Responses API, with type, range, default and description. A field with a counterpart
// in a chat request has the counterpart's meaning; the other fields of a chat request are accepted too.
import { Type } from "typebox";
import { anyObject, named } from "../fields/any-object.ts";
import { is, isEmpty, never } from "../body.ts";
import { sharedFields, sharedNames } from "../chat/shared-fields.ts";
import { chatFields } from "../chat/chat-request.ts";
import { field, schemaOf, type ValuesOf } from "../fields/field.ts";
import { tokenLimitRange, tokenLimitSchema } from "../chat/chat-limits.ts";
import { nullable } from "../nullable.ts";

/** Defines a member that accepts any value; other code may check it. */
const free = (description: string) => Type.Optional(Type.Unknown({ description }));

const part = Type.Object(
  {
    type: Type.String({ description: "`input_text`, `output_text` or `refusal`." }),
    text: free("Text of a text part."),
    refusal: free("Text of a refusal."),
    annotations: free("Accepted without use."),
    logprobs: free("Accepted without use."),
  },
  { ...named, title: "InputPart" },
);

/** An item of any supported type. Separate code checks that it has the members that its type requires. */
const itemSchema = Type.Object(
  {
    type: nullable(Type.String(), {
      default: "message",
      description:
        "`message`, `function_call`, `function_call_output`, `custom_tool_call`, `custom_tool_call_output` or `reasoning`.",
    }),
    role: nullable(Type.String(), {
      description: "Role of a message: user, assistant, system or developer.",
    }),
    content: nullable(
      Type.Union([Type.String({ title: "str" }), Type.Array(part, { title: "list[InputPart]" })]),
      {
        description: "Text or parts of a message; thoughts of a reasoning item.",
      },
    ),
    call_id: nullable(Type.String(), { description: "Links a call and its output." }),
    name: nullable(Type.String(), { description: "Name of the called function." }),
    arguments: nullable(Type.String(), { description: "Arguments of a function call, as JSON text." }),
    input: nullable(Type.String(), { description: "Input text of a custom tool call." }),
    output: nullable(
      Type.Union([Type.String({ title: "str" }), Type.Array(part, { title: "list[InputPart]" })]),
      { description: "Output of the call." },
    ),
    summary: nullable(Type.Array(anyObject), {
      description: "Thoughts of a reasoning item without content.",
    }),
    // Members that items in answers have.
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
        "`function`, or `custom`, which takes one text. Tools of other types are left out: the server runs no tools itself.",
    }),
    name: nullable(Type.String(), { description: "Name of the tool, as the model sees it." }),
    description: nullable(Type.String(), { description: "Description of the tool, for the model." }),
    parameters: nullable(anyObject, { description: "JSON Schema of the arguments." }),
    strict: nullable(Type.Boolean(), { description: "If true, arguments satisfy the schema exactly." }),
    format: nullable(
      Type.Object(
        {
          type: Type.String({ description: "`text` or `grammar`." }),
          syntax: nullable(Type.String(), { description: "Notation of a grammar: `lark` or `regex`." }),
          definition: nullable(Type.String(), { description: "Grammar that every call matches." }),
        },
        { ...named, title: "CustomToolFormat" },
      ),
      { description: "Format of a custom tool's input text." },
    ),
  },
  { ...named, title: "ResponseTool" },
);

const toolChoiceSchema = Type.Union([
  Type.Enum(["none", "auto", "required"]),
  Type.Object(
    {
      type: Type.String({ description: "`function`, `custom` or `allowed_tools`." }),
      name: nullable(Type.String(), { description: "Name of one of the tools." }),
      mode: nullable(Type.Enum(["auto", "required"]), {
        description: "With allowed tools: `required` if one of them must be called.",
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
            description: "Kind of the format.",
          }),
          name: nullable(Type.String(), { description: "For people; not used." }),
          description: nullable(Type.String(), { description: "For people; not used." }),
          schema: nullable(anyObject, {
            description: "The JSON Schema: required with `json_schema`, optional with `json_object`.",
          }),
          strict: nullable(Type.Boolean(), {
            description: "Ignored: every schema is enforced exactly.",
          }),
        },
        { ...named, title: "TextFormat" },
      ),
      { "x-default": "text", description: "Format of the answer." },
    ),
    verbosity: nullable(Type.Enum(["low", "medium", "high"]), {
      default: "medium",
      description: "Accepted without use: models here have only one verbosity.",
    }),
  },
  { title: "TextConfig" },
);

const reasoningSchema = Type.Object(
  {
    effort: chatFields.reasoning_effort.schema,
    summary: nullable(Type.Enum(["auto", "concise", "detailed"]), {
      description: "Accepted without use: thoughts are returned in full.",
    }),
    generate_summary: nullable(Type.Enum(["auto", "concise", "detailed"]), {
      description: "Older name of summary.",
    }),
  },
  { title: "Reasoning" },
);

/** Values of `include` that OpenAI's API defines. */
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

/** Returns the values of `include` that this server does not know. */
export function unknownIncludes(include: readonly string[]): readonly string[] {
  return include.filter((one) => !includables.includes(one));
}

/** True if the model sees tools of this type. */
export function isShownType(type: unknown): type is "function" | "custom" {
  return type === "function" || type === "custom";
}

const refused = "The server keeps no state between requests.";
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
    about: "System message before the input.",
    otherwise: "none",
    example: "Answer in one word.",
  }),
  ...sharedFields(sharedNames),
  max_output_tokens: field("read", tokenLimitSchema(), {
    about: "Maximum number of answer tokens; reduced to the remaining context.",
    range: tokenLimitRange,
    otherwise: "the model's own, else the remaining context",
    example: 100,
  }),
  tools: field("read", nullable(Type.Array(toolSchema)), {
    about:
      "Functions and custom tools that the chat template shows to the model; the header `x-hone-notice` names tools that were left out.",
    range: "at most 1,024 unless configured otherwise",
    otherwise: "none",
    example: [{ type: "function", name: "weather", parameters: { type: "object" } }],
  }),
  tool_choice: field("read", nullable(toolChoiceSchema), {
    about:
      "Tool calls in the answer: allowed (auto), required (required, or a tool by name), forbidden (none), or limited to some tools (allowed_tools).",
    otherwise: "as in a chat request",
    example: "auto",
  }),
  text: field("read", nullable(textSchema), {
    about: "Format of the answer's text.",
    otherwise: "free text",
    example: { format: { type: "json_object" } },
  }),
  reasoning: field("read", nullable(reasoningSchema), {
    about: "How much the model should think.",
    otherwise: "the template's own",
    example: { effort: "low" },
  }),
  top_logprobs: field("read", nullable(Type.Integer({ minimum: 0, maximum: 20 })), {
    about: "Returns each token's log-probability, with this many alternatives.",
    default: 0,
    example: 3,
  }),
  include: field("read", nullable(Type.Array(Type.String())), {
    about:
      "Additional output. `message.output_text.logprobs` adds log-probabilities; other known values have no effect here. The header `x-hone-notice` names unknown values.",
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
    about: "Returned with the answer.",
    default: {},
    example: { topic: "demo" },
  }),
  truncation: field("read", nullable(Type.Enum(["auto", "disabled"])), {
    about: "With auto, a prompt that is too long keeps only its last tokens; otherwise it is refused.",
    default: "disabled",
    example: "auto",
  }),
  store: field("read", nullable(Type.Boolean()), {
    about:
      "Responses cannot be retrieved later: true is answered as false, and the header `x-hone-notice` says so. False also excludes the response from recording.",
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
    about: "The server moderates nothing.",
    otherwise: "none",
    refusedUnless: never,
  }),
  max_tool_calls: field(null, nullable(Type.Integer({ minimum: 0 })), {
    about: "Accepted without use: it limits tools that the server runs, and the server runs none.",
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

// Fields of a request in OpenAI's Responses API, with type, range, default and description. A field with a counterpart
// in a chat request has the same meaning as there. All other fields of a chat request are accepted too.
import { Type } from "typebox";
import { anyObject, named } from "../fields/any-object.ts";
import { is, isEmpty, never } from "../body.ts";
import { sharedFields, sharedNames } from "../chat/shared-fields.ts";
import { chatFields } from "../chat/chat-request.ts";
import { field, schemaOf, type ValuesOf } from "../fields/field.ts";
import { tokenLimitRange, tokenLimitSchema } from "../chat/chat-limits.ts";
import { nullable } from "../nullable.ts";

/** Defines a member that accepts any value. Other code may check the value. */
const free = (description: string) => Type.Optional(Type.Unknown({ description }));

const part = Type.Object(
  {
    type: Type.String({ description: "`input_text`, `output_text` or `refusal`." }),
    text: free("Text of a part of type `input_text` or `output_text`."),
    refusal: free("Text of the model's refusal."),
    annotations: free("Accepted, but has no effect."),
    logprobs: free("Accepted, but has no effect."),
  },
  { ...named, title: "InputPart" },
);

/** A conversation item of any supported type. Other code checks that it has the members that its type requires. */
const itemSchema = Type.Object(
  {
    type: nullable(Type.String(), {
      default: "message",
      description:
        "Type of the item: `message`, `function_call`, `function_call_output`, `custom_tool_call`, `custom_tool_call_output` or `reasoning`.",
    }),
    role: nullable(Type.String(), {
      description: "In a message: role of its author, which is user, assistant, system or developer.",
    }),
    content: nullable(
      Type.Union([Type.String({ title: "str" }), Type.Array(part, { title: "list[InputPart]" })]),
      {
        description: "In a message: a string, or parts. In a reasoning item: the thoughts.",
      },
    ),
    call_id: nullable(Type.String(), { description: "Id that a call and its output have in common." }),
    name: nullable(Type.String(), { description: "In a call: name of the called function or custom tool." }),
    arguments: nullable(Type.String(), {
      description: "In a function call: its arguments, as a string of JSON.",
    }),
    input: nullable(Type.String(), { description: "In a custom tool call: its input, as one string." }),
    output: nullable(
      Type.Union([Type.String({ title: "str" }), Type.Array(part, { title: "list[InputPart]" })]),
      { description: "In an output item: result that the tool returned." },
    ),
    summary: nullable(Type.Array(anyObject), {
      description: "In a reasoning item without content: the thoughts.",
    }),
    // Accepts members that only items in answers have, because clients send such items back.
    id: free("Accepted, but has no effect."),
    status: free("Accepted, but has no effect."),
    phase: free("Accepted, but has no effect."),
    encrypted_content: free("Accepted, but has no effect."),
  },
  { ...named, title: "InputItem" },
);

const toolSchema = Type.Object(
  {
    type: Type.String({
      description:
        "Type of the tool: `function` takes arguments, `custom` takes one string. Tools of other types are left out, because the server runs no tools itself.",
    }),
    name: nullable(Type.String(), { description: "Name of the tool, as the model sees it." }),
    description: nullable(Type.String(), { description: "Description of the tool, for the model." }),
    parameters: nullable(anyObject, { description: "JSON Schema of the arguments." }),
    strict: nullable(Type.Boolean(), {
      description: "True to constrain the arguments of calls, so that they satisfy the schema exactly.",
    }),
    format: nullable(
      Type.Object(
        {
          type: Type.String({
            description: "`text` for any text, `grammar` for text that matches a grammar.",
          }),
          syntax: nullable(Type.String(), {
            description: "With type `grammar`: its notation, `lark` or `regex`.",
          }),
          definition: nullable(Type.String(), {
            description: "With type `grammar`: the grammar; the input of each call matches it.",
          }),
        },
        { ...named, title: "CustomToolFormat" },
      ),
      { description: "In a custom tool: format of its input; any text by default." },
    ),
  },
  { ...named, title: "ResponseTool" },
);

const toolChoiceSchema = Type.Union([
  Type.Enum(["none", "auto", "required"]),
  Type.Object(
    {
      type: Type.String({
        description:
          "`function` or `custom`: one tool must be called. `allowed_tools`: only some of the tools may be called.",
      }),
      name: nullable(Type.String(), {
        description: "With type `function` or `custom`: name of the tool that must be called.",
      }),
      mode: nullable(Type.Enum(["auto", "required"]), {
        description:
          "With type `allowed_tools`: `required` if one of the tools must be called, `auto` if the model may also answer without a call.",
      }),
      tools: nullable(Type.Array(anyObject), {
        description:
          "With type `allowed_tools`: the tools that may be called, each identified by type and name.",
      }),
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
            description:
              "`text` for free text, `json_object` for any JSON object, `json_schema` for JSON that satisfies a schema.",
          }),
          name: nullable(Type.String(), { description: "Name of the schema; ignored by the server." }),
          description: nullable(Type.String(), {
            description: "Description of the schema; ignored by the server.",
          }),
          schema: nullable(anyObject, {
            description:
              "JSON Schema of the answer: required with type `json_schema`, optional with `json_object`.",
          }),
          strict: nullable(Type.Boolean(), {
            description: "Ignored: every schema is enforced exactly.",
          }),
        },
        { ...named, title: "TextFormat" },
      ),
      { "x-default": "text", description: "Format of the answer's text." },
    ),
    verbosity: nullable(Type.Enum(["low", "medium", "high"]), {
      default: "medium",
      description: "Accepted without effect, because the verbosity of models cannot be set.",
    }),
  },
  { title: "TextConfig" },
);

const reasoningSchema = Type.Object(
  {
    effort: chatFields.reasoning_effort.schema,
    summary: nullable(Type.Enum(["auto", "concise", "detailed"]), {
      description: "Accepted without effect, because thoughts are returned in full.",
    }),
    generate_summary: nullable(Type.Enum(["auto", "concise", "detailed"]), {
      description: "Older name of the field summary.",
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

/** True if the model can see tools of this type. */
export function isShownType(type: unknown): type is "function" | "custom" {
  return type === "function" || type === "custom";
}

const refused = "Refused, because the server keeps no state between requests.";
const unused = "Accepted, but has no effect.";

export const responsesFields = {
  input: field(
    "read",
    Type.Union([Type.String({ title: "str" }), Type.Array(itemSchema, { title: "list[InputItem]" })]),
    {
      about: "The text of a user's message, or the conversation so far as a list of items, oldest first.",
      range: "at most 4,096 items, unless configured otherwise",
      example: "What is the capital of France?",
    },
  ),
  instructions: field("read", nullable(Type.String()), {
    about: "Text of a system message that precedes the input.",
    otherwise: "none",
    example: "Answer in one word.",
  }),
  ...sharedFields(sharedNames),
  max_output_tokens: field("read", tokenLimitSchema(), {
    about: "Maximum number of answer tokens. Reduced to the remaining context if it is larger.",
    range: tokenLimitRange,
    otherwise: "the model's own default, otherwise the remaining context",
    example: 100,
  }),
  tools: field("read", nullable(Type.Array(toolSchema)), {
    about:
      "Functions and custom tools that the chat template shows to the model. Tools of other types are left out; the response header `x-hone-notice` names them.",
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
    about: "How much the model should think before it answers.",
    otherwise: "the template's own",
    example: { effort: "low" },
  }),
  top_logprobs: field("read", nullable(Type.Integer({ minimum: 0, maximum: 20 })), {
    about:
      "Number of most probable alternatives to return for each answer token, together with the log-probability of the token itself.",
    default: 0,
    example: 3,
  }),
  include: field("read", nullable(Type.Array(Type.String())), {
    about:
      "Additional parts of the answer. `message.output_text.logprobs` adds log-probabilities; other values of OpenAI's API have no effect. The response header `x-hone-notice` names unknown values.",
    default: [],
    example: ["message.output_text.logprobs"],
  }),
  stream: field("answer form", nullable(Type.Boolean()), {
    about: "True to receive the answer as server-sent events.",
    default: false,
    example: true,
  }),
  stream_options: field(null, nullable(anyObject), {
    about: unused,
    default: {},
    example: { include_obfuscation: false },
  }),
  metadata: field("answer form", nullable(Type.Object({}, { additionalProperties: Type.String() })), {
    about: "Key-value pairs of strings, returned with the answer.",
    default: {},
    example: { topic: "demo" },
  }),
  truncation: field("read", nullable(Type.Enum(["auto", "disabled"])), {
    about:
      "Handling of a prompt that does not fit into the context: `auto` keeps only its last tokens, `disabled` refuses the request.",
    default: "disabled",
    example: "auto",
  }),
  store: field("read", nullable(Type.Boolean()), {
    about:
      "Responses cannot be retrieved later, even with true; the response header `x-hone-notice` then says so. An explicit false also excludes the response from recording.",
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
    about: "Refused, because the server does not moderate content.",
    otherwise: "none",
    refusedUnless: never,
  }),
  max_tool_calls: field(null, nullable(Type.Integer({ minimum: 0 })), {
    about: "Accepted without effect: it limits tools that the server runs itself, and this server runs none.",
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

// The fields of a chat request that speak of its reply, and that a text completion lacks or spells otherwise.
import { Type } from "typebox";
import { anyObject, named } from "../../fields/any-object.ts";
import { field } from "../../fields/field.ts";
import { nullable } from "../../nullable.ts";
import { tokenLimitRange, tokenLimitSchema } from "../chat-limits.ts";

const namedTool = Type.Object(
  { name: Type.String({ description: "One of the tools' names." }) },
  { ...named, title: "NamedTool" },
);

const toolName = Type.Object(
  {
    type: Type.Optional(Type.Unknown({ description: "`function` or `custom`." })),
    name: Type.Optional(Type.Unknown({ description: "Accepted without use." })),
    function: Type.Optional(Type.Unknown({ description: "The function, by its name." })),
    custom: Type.Optional(Type.Unknown({ description: "The custom tool, by its name." })),
  },
  named,
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
            tools: Type.Array(toolName, { description: "Tools by their type and name." }),
          },
          { ...named, title: "AllowedTools" },
        ),
        { description: "The tools that may be called; all are shown to the model." },
      ),
    },
    { ...named, title: "NamedToolChoice" },
  ),
]);

export const replyFields = {
  echo: field("prompt.echo", Type.Optional(Type.Boolean()), {
    about:
      "Puts the last message's text before the answer's where both have one role, as with continue_final_message; else it changes no text. Answers that are no stream then have prompt_logprobs, as many as top_logprobs.",
    default: false,
    example: true,
    inResponses: false,
  }),
  // A text model has no input to process.
  mm_processor_kwargs: field(null, nullable(anyObject), {
    about: "Accepted without use: the models read text.",
    default: {},
    example: { num_crops: 4 },
    inResponses: false,
  }),
  tool_choice: field("calls.choice", nullable(toolChoiceSchema), {
    about:
      "Whether the answer may call tools (auto), must (required, or a function by name) or must not (none).",
    range: "where the model calls no tools, `none` alone",
    otherwise: "auto where there are tools and the model calls them, else none",
    example: "auto",
    inResponses: false,
  }),
  parallel_tool_calls: field("calls.areParallel", nullable(Type.Boolean()), {
    about: "Whether an answer may call more than one tool.",
    default: true,
    example: false,
  }),
  max_completion_tokens: field("stopping.maxTokens", tokenLimitSchema(), {
    about: "The same as max_tokens, and wins over it.",
    range: tokenLimitRange,
    otherwise: "max_tokens",
    example: 100,
    inResponses: false,
  }),
  max_tokens: field("stopping.maxTokens", tokenLimitSchema(), {
    about: "Most tokens of an answer; cut to the room that is left. max_completion_tokens is its newer name.",
    range: tokenLimitRange,
    otherwise: "the model's own, else all the room",
    example: 100,
    inResponses: false,
  }),
  logprobs: field("output.logprobs", nullable(Type.Boolean()), {
    about: "Returns each token's log-probability, before bias, penalties and temperature.",
    otherwise: "false; true for a trained model",
    example: true,
    inResponses: false,
  }),
  top_logprobs: field("output.logprobs", nullable(Type.Integer({ minimum: 0, maximum: 20 })), {
    about:
      "How many alternatives each token carries, the most probable first; needs logprobs. All answers together have at most 4,194,304 log-probabilities.",
    default: 0,
    example: 3,
    inResponses: false,
  }),
  include_reasoning: field("output.includeReasoning", Type.Optional(Type.Boolean()), {
    about: "Whether what the model thought is returned, as `reasoning`; its tokens count anyway.",
    default: true,
    example: false,
  }),
};

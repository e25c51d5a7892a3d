// Fields for the reply to a chat request. A text completion lacks these fields or has other names for them.
import { Type } from "typebox";
import { anyObject, named } from "../../fields/any-object.ts";
import { field } from "../../fields/field.ts";
import { nullable } from "../../nullable.ts";
import { tokenLimitRange, tokenLimitSchema } from "../chat-limits.ts";

const namedTool = Type.Object(
  { name: Type.String({ description: "Name of one of the tools." }) },
  { ...named, title: "NamedTool" },
);

const toolName = Type.Object(
  {
    type: Type.Optional(Type.Unknown({ description: "`function` or `custom`." })),
    name: Type.Optional(Type.Unknown({ description: "Accepted without use." })),
    function: Type.Optional(Type.Unknown({ description: "The function, by name." })),
    custom: Type.Optional(Type.Unknown({ description: "The custom tool, by name." })),
  },
  named,
);

const toolChoiceSchema = Type.Union([
  Type.Enum(["none", "auto", "required"]),
  Type.Object(
    {
      type: Type.Enum(["function", "custom", "allowed_tools"], {
        description: "A tool that must be called, or the tools that may be called.",
      }),
      function: nullable(namedTool, { description: "The function that must be called." }),
      custom: nullable(namedTool, { description: "The custom tool that must be called." }),
      allowed_tools: nullable(
        Type.Object(
          {
            mode: Type.Enum(["auto", "required"], {
              description: "The same as the tool choice of that name.",
            }),
            tools: Type.Array(toolName, { description: "Tools, by type and name." }),
          },
          { ...named, title: "AllowedTools" },
        ),
        { description: "The tools that may be called; the model sees all tools." },
      ),
    },
    { ...named, title: "NamedToolChoice" },
  ),
]);

export const replyFields = {
  echo: field("prompt.echo", Type.Optional(Type.Boolean()), {
    about:
      "Puts the last message's text before the answer's text if both have the same role, as with continue_final_message; otherwise the text does not change. Answers that are not streamed then include prompt_logprobs, as many as top_logprobs.",
    default: false,
    example: true,
    inResponses: false,
  }),
  // Has no effect, because text models have no multimodal input.
  mm_processor_kwargs: field(null, nullable(anyObject), {
    about: "Accepted without use: the models read only text.",
    default: {},
    example: { num_crops: 4 },
    inResponses: false,
  }),
  tool_choice: field("calls.choice", nullable(toolChoiceSchema), {
    about:
      "Tool calls in the answer: allowed (auto), required (required, or a function by name) or forbidden (none).",
    range: "only `none` if the model calls no tools",
    otherwise: "auto if there are tools and the model calls them, else none",
    example: "auto",
    inResponses: false,
  }),
  parallel_tool_calls: field("calls.areParallel", nullable(Type.Boolean()), {
    about: "True if an answer may call more than one tool.",
    default: true,
    example: false,
  }),
  max_completion_tokens: field("stopping.maxTokens", tokenLimitSchema(), {
    about: "Newer name of max_tokens; takes precedence over it.",
    range: tokenLimitRange,
    otherwise: "max_tokens",
    example: 100,
    inResponses: false,
  }),
  max_tokens: field("stopping.maxTokens", tokenLimitSchema(), {
    about:
      "Maximum number of answer tokens; reduced to the remaining context. max_completion_tokens is its newer name.",
    range: tokenLimitRange,
    otherwise: "the model's own, else the remaining context",
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
      "Number of alternatives per token, most probable first; requires logprobs. All answers of a request together have at most 4,194,304 log-probabilities.",
    default: 0,
    example: 3,
    inResponses: false,
  }),
  include_reasoning: field("output.includeReasoning", Type.Optional(Type.Boolean()), {
    about: "Returns the model's thoughts as `reasoning`; their tokens count either way.",
    default: true,
    example: false,
  }),
};

// Request fields for the reply to a chat request. Text completions do not have these fields, or have other names for
// them.
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
    name: Type.Optional(Type.Unknown({ description: "Accepted, but has no effect." })),
    function: Type.Optional(
      Type.Unknown({ description: "With type `function`: an object with the function's name." }),
    ),
    custom: Type.Optional(
      Type.Unknown({ description: "With type `custom`: an object with the tool's name." }),
    ),
  },
  named,
);

const toolChoiceSchema = Type.Union([
  Type.Enum(["none", "auto", "required"]),
  Type.Object(
    {
      type: Type.Enum(["function", "custom", "allowed_tools"], {
        description:
          "`function` or `custom`: one tool must be called. `allowed_tools`: only some of the tools may be called.",
      }),
      function: nullable(namedTool, {
        description: "With type `function`: the function that must be called.",
      }),
      custom: nullable(namedTool, {
        description: "With type `custom`: the custom tool that must be called.",
      }),
      allowed_tools: nullable(
        Type.Object(
          {
            mode: Type.Enum(["auto", "required"], {
              description:
                "`required` if one of the allowed tools must be called; `auto` if the model may also answer without a call.",
            }),
            tools: Type.Array(toolName, {
              description: "Tools that may be called, each identified by type and name.",
            }),
          },
          { ...named, title: "AllowedTools" },
        ),
        {
          description:
            "With type `allowed_tools`: restricts calls to some tools. The model still sees all tools.",
        },
      ),
    },
    { ...named, title: "NamedToolChoice" },
  ),
]);

export const replyFields = {
  echo: field("prompt.echo", Type.Optional(Type.Boolean()), {
    about:
      "True to put the last message's text before the answer's text. This has an effect only if the last message and the answer have the same role, as with continue_final_message. With echo, the answer also includes prompt_logprobs, with top_logprobs alternatives per token, unless it is streamed or found by beam search.",
    default: false,
    example: true,
    inResponses: false,
  }),
  // This field has no effect, because text models have no multimodal input.
  mm_processor_kwargs: field(null, nullable(anyObject), {
    about: "Accepted without effect, because this server's models read only text.",
    default: {},
    example: { num_crops: 4 },
    inResponses: false,
  }),
  tool_choice: field("calls.choice", nullable(toolChoiceSchema), {
    about:
      "Tool calls in the answer: allowed (auto), required (required, or a function by name) or forbidden (none).",
    range: "only `none` if the model cannot call tools",
    otherwise: "auto if there are tools and the model can call them, otherwise none",
    example: "auto",
    inResponses: false,
  }),
  parallel_tool_calls: field("calls.areParallel", nullable(Type.Boolean()), {
    about: "True to allow more than one tool call in an answer.",
    default: true,
    example: false,
  }),
  max_completion_tokens: field("stopping.maxTokens", tokenLimitSchema(), {
    about: "Newer name of max_tokens. If a request has both fields, this one applies.",
    range: tokenLimitRange,
    otherwise: "max_tokens",
    example: 100,
    inResponses: false,
  }),
  max_tokens: field("stopping.maxTokens", tokenLimitSchema(), {
    about:
      "Maximum number of answer tokens. Reduced to the remaining context if it is larger. max_completion_tokens is its newer name.",
    range: tokenLimitRange,
    otherwise: "the model's own default, otherwise the remaining context",
    example: 100,
    inResponses: false,
  }),
  logprobs: field("output.logprobs", nullable(Type.Boolean()), {
    about:
      "True to return the log-probability of each answer token, computed before bias, penalties and temperature.",
    otherwise: "false; true for a trained model",
    example: true,
    inResponses: false,
  }),
  top_logprobs: field("output.logprobs", nullable(Type.Integer({ minimum: 0, maximum: 20 })), {
    about:
      "Number of most probable alternatives to return for each answer token; requires logprobs. A request may return at most 4,194,304 log-probabilities, over all its answers.",
    default: 0,
    example: 3,
    inResponses: false,
  }),
  include_reasoning: field("output.includeReasoning", Type.Optional(Type.Boolean()), {
    about:
      "True to return the model's thoughts as `reasoning`. The tokens of thoughts count as answer tokens even if thoughts are not returned.",
    default: true,
    example: false,
  }),
};

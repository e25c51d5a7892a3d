// Converts a request of Anthropic's Messages API to the equivalent chat request.
import { pickShared, omitUndefined } from "../chat/shared-fields.ts";
import { isObject } from "../../../base/validation/findings.ts";
import { continuesLast, type InputMessage } from "./input-messages.ts";
import { unrenamedNames, type CountRequestBody, type MessagesRequestBody } from "./messages-request.ts";

type Tool = NonNullable<CountRequestBody["tools"]>[number];
type ToolChoice = NonNullable<CountRequestBody["tool_choice"]>;

/** Body of a request to the Messages API, or of a request to count its prompt tokens. */
export type MessageBody = CountRequestBody & Partial<MessagesRequestBody>;

/**
 * Returns the body of the equivalent chat request.
 *
 * @param messages result of `inputMessages` for the body
 * @param tools those tools of the body that the model sees
 */
export function chatBody(
  body: MessageBody,
  messages: readonly InputMessage[],
  tools: readonly Tool[],
): object {
  const choice = tools.length === 0 ? null : (body.tool_choice ?? null);
  const format = formatOf(body);
  return {
    ...pickShared(body, unrenamedNames),
    messages: messages.map(({ message }) => message),
    ...(continuesLast(messages) ? { continue_final_message: true } : {}),
    stream: body.stream ?? false,
    max_tokens: body.max_tokens ?? null,
    stop: body.stop_sequences ?? null,
    user: body.metadata?.user_id ?? null,
    tools: tools.length === 0 ? null : tools.map(toolBody),
    tool_choice: choice === null ? null : toolChoice(choice),
    parallel_tool_calls: choice?.disable_parallel_tool_use !== true,
    response_format: format && {
      type: "json_schema",
      json_schema: { name: "output", schema: format.schema },
    },
    ...thinkingBody(body),
    // Log-probabilities and token ids are off, because answers of the Messages API have no fields for them.
    logprobs: false,
    return_token_ids: false,
  };
}

/**
 * Returns the format of the answer. The body may have it in `output_config` or, from older clients, in `output_format`.
 */
function formatOf({ output_config: config, output_format: older }: CountRequestBody) {
  return config?.format ?? older ?? null;
}

function toolBody({ name, description, input_schema: parameters, strict }: Tool): object {
  return { type: "function", function: omitUndefined({ name, description, parameters, strict }) };
}

function toolChoice({ type, name }: ToolChoice): unknown {
  if (type === "tool") return { type: "function", function: { name } };
  return type === "any" ? "required" : type;
}

/** Returns the fields that turn thinking on or off. Without them, the chat template would decide. */
function thinkingBody({
  thinking,
  output_config: config,
  chat_template_kwargs: variables,
}: MessageBody): object {
  const kind = thinking?.type ?? "disabled";
  if (kind === "disabled") return { reasoning_effort: "none" };
  const effort = config?.effort ?? null;
  const own = variables ?? {};
  return {
    reasoning_effort: effort,
    // Sets `enable_thinking` only without a reasoning effort, which implies thinking. Passes on invalid
    // `chat_template_kwargs` unchanged, so that the chat reader refuses them.
    ...(effort === null && isObject(own) ? { chat_template_kwargs: { enable_thinking: true, ...own } } : {}),
    thinking_token_budget: kind === "enabled" ? (thinking?.budget_tokens ?? null) : null,
    include_reasoning: thinking?.display !== "omitted",
  };
}

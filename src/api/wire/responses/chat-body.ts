// Converts a request of the Responses API to the equivalent chat request.
import { pickShared, omitUndefined } from "../chat/shared-fields.ts";
import type { InputMessage } from "./input-messages.ts";
import { isShownType, type ResponsesRequestBody } from "./responses-request.ts";

type Tool = NonNullable<ResponsesRequestBody["tools"]>[number];

/**
 * Returns the body of the equivalent chat request.
 *
 * @param messages result of `inputMessages` for the body
 * @param tools those tools of the body that the model sees
 */
export function chatBody(
  body: ResponsesRequestBody,
  messages: readonly InputMessage[],
  tools: readonly Tool[],
): object {
  return {
    ...pickShared(body),
    messages: messages.map(({ message }) => message),
    stream: body.stream ?? false,
    max_completion_tokens: body.max_output_tokens ?? null,
    tools: tools.length === 0 ? null : tools.map(toolBody),
    tool_choice: tools.length === 0 ? null : toolChoice(body.tool_choice ?? null),
    response_format: responseFormat(body.text?.format ?? null),
    reasoning_effort: body.reasoning?.effort ?? null,
    metadata: body.metadata ?? null,
    ...logprobs(body),
    ...(body.truncation === "auto" ? { truncate_prompt_tokens: -1 } : {}),
  };
}

function toolBody(tool: Tool): object {
  const { name, description, parameters, strict } = tool;
  if (tool.type === "custom")
    return {
      type: "custom",
      custom: omitUndefined({ name, description, format: toolFormat(tool.format ?? null) }),
    };
  return { type: "function", function: omitUndefined({ name, description, parameters, strict }) };
}

function toolChoice(choice: NonNullable<ResponsesRequestBody["tool_choice"]> | null): unknown {
  if (choice === null || typeof choice === "string") return choice;
  const { type, name, mode, tools } = choice;
  if (type === "allowed_tools")
    return { type, allowed_tools: { mode: mode ?? "auto", tools: (tools ?? []).flatMap(allowedTool) } };
  return { type, [type]: { name } };
}

/**
 * Converts an allowed tool to the form of a chat request. Returns it in a list, which is empty for a type of tool that
 * models do not see.
 */
function allowedTool(tool: object): readonly object[] {
  const { type, name } = { type: "function", name: undefined, ...tool };
  return isShownType(type) ? [{ type, [type]: { name } }] : [];
}

function toolFormat(format: NonNullable<Tool["format"]> | null): object | null {
  if (format?.type !== "grammar") return format;
  const { syntax, definition } = format;
  return { type: "grammar", grammar: { syntax, definition } };
}

type Format = NonNullable<NonNullable<ResponsesRequestBody["text"]>["format"]>;

function responseFormat(format: Format | null): object | null {
  if (format === null) return null;
  const { type, name, description, schema, strict } = format;
  if (type !== "json_schema")
    return omitUndefined({ type, schema: type === "json_object" ? schema : undefined });
  return { type: "json_schema", json_schema: omitUndefined({ name, description, schema, strict }) };
}

/**
 * Returns the chat request's fields for log-probabilities. They are off for every model unless requested. Token ids are
 * always off, because the Responses API has no field for them.
 */
function logprobs({ include, top_logprobs: count }: ResponsesRequestBody): object {
  const isAsked = include?.includes("message.output_text.logprobs") === true || (count ?? 0) > 0;
  return { logprobs: isAsked, ...(isAsked ? { top_logprobs: count ?? 0 } : {}), return_token_ids: false };
}

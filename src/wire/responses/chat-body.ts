// The body of the chat request that a request for a response stands for.
import type { InputMessage } from "./input-messages.ts";
import { chatFieldNames, type ResponsesRequestBody } from "./responses-request.ts";

/** @param messages as `inputMessages` makes them of the body */
export function chatBody(body: ResponsesRequestBody, messages: readonly InputMessage[]): object {
  return {
    ...given(Object.fromEntries(chatFieldNames.map((name) => [name, body[name]]))),
    messages: messages.map(({ message }) => message),
    stream: body.stream ?? false,
    max_completion_tokens: body.max_output_tokens ?? null,
    tools: body.tools?.map(toolBody) ?? null,
    tool_choice: toolChoice(body.tool_choice ?? null),
    response_format: responseFormat(body.text?.format ?? null),
    reasoning_effort: body.reasoning?.effort ?? null,
    ...logprobs(body),
    ...(body.truncation === "auto" ? { truncate_prompt_tokens: -1 } : {}),
  };
}

/** Without members that were not sent, since templates show what is there. */
function given(members: Readonly<Record<string, unknown>>): object {
  return Object.fromEntries(Object.entries(members).filter(([, value]) => value !== undefined));
}

function toolBody(tool: NonNullable<ResponsesRequestBody["tools"]>[number]): object {
  const { name, description, parameters, strict } = tool;
  return { type: "function", function: given({ name, description, parameters, strict }) };
}

function toolChoice(choice: NonNullable<ResponsesRequestBody["tool_choice"]> | null): unknown {
  if (choice === null || typeof choice === "string") return choice;
  return { type: "function", function: { name: choice.name } };
}

type Format = NonNullable<NonNullable<ResponsesRequestBody["text"]>["format"]>;

function responseFormat(format: Format | null): object | null {
  if (format?.type !== "json_schema") return format && { type: format.type };
  const { name, description, schema, strict } = format;
  return { type: "json_schema", json_schema: given({ name, description, schema, strict }) };
}

/** Off unless asked for, whatever the model: tokens' ids have no place in the answer. */
function logprobs({ include, top_logprobs: count }: ResponsesRequestBody): object {
  const isAsked = include?.includes("message.output_text.logprobs") === true || (count ?? 0) > 0;
  return { logprobs: isAsked, ...(isAsked ? { top_logprobs: count ?? 0 } : {}), return_token_ids: false };
}

// Attributes of OpenInference, which Arize Phoenix's instrumentations write: one attribute per member of a message.
import {
  isExactObject,
  isExactList,
  type ExactJson,
  type ExactJsonObject,
} from "../../../base/domain/text/exact-json.ts";
import { choicesOf, finishReasonOf, toolsOf, type Chat } from "../chat.ts";
import { messagesOf, toolCall } from "../messages.ts";
import { parsedValue, type SpanAttributes } from "../span-attributes.ts";

export function openInferenceChat(attributes: SpanAttributes): Chat | null {
  const input = attributes.list("llm.input_messages");
  const output = attributes.list("llm.output_messages");
  if (input.length === 0 && output.length === 0) return null;
  // `input.value` and `output.value` repeat the messages, as the whole request and the whole answer.
  attributes.take("input.value", "input.mime_type", "output.value", "output.mime_type");
  const options = attributes.parsed("llm.invocation_parameters") ?? {};
  const { model, messages: _, tools, ...parameters } = isExactObject(options) ? options : {};
  const listed = attributes
    .list("llm.tools")
    .map((item) => parsedValue(memberOf(item, "tool", "json_schema")) ?? null);
  const name = attributes.text("llm.model_name");
  return {
    model: name ?? (typeof model === "string" ? model : null),
    messages: messagesOf(input.map(messageOf)),
    tools: toolsOf(listed.length === 0 ? tools : listed),
    parameters,
    choices: choicesOf(output.map(messageOf), finishReasonOf(attributes.take("llm.finish_reason"))),
    usage: {
      inputTokens: attributes.number("llm.token_count.prompt"),
      outputTokens: attributes.number("llm.token_count.completion"),
    },
  };
}

function messageOf(item: ExactJsonObject): ExactJson {
  const message = item["message"] ?? {};
  if (!isExactObject(message)) return item;
  const { contents, content, tool_calls: calls, ...others } = message;
  const shown = contents !== undefined && isExactList(contents) ? contents.map(partOf) : content;
  return {
    ...others,
    content: shown ?? null,
    ...(calls !== undefined && isExactList(calls) ? { tool_calls: calls.map(callOf) } : {}),
  };
}

function partOf(item: ExactJson): ExactJson {
  return (isExactObject(item) ? item["message_content"] : undefined) ?? item;
}

function callOf(item: ExactJson): ExactJson {
  const call = isExactObject(item) ? item : {};
  return toolCall(
    memberOf(call, "tool_call", "id"),
    memberOf(call, "tool_call", "function", "name"),
    memberOf(call, "tool_call", "function", "arguments"),
  );
}

function memberOf(object: ExactJsonObject, ...names: readonly string[]): ExactJson | undefined {
  let value: ExactJson | undefined = object;
  for (const name of names) value = value !== undefined && isExactObject(value) ? value[name] : undefined;
  return value;
}

// A conversation's messages as a chat template sees them: content in the form it expects, arguments of tool calls as
// objects, null members left out. Input is in the API's own spelling; nothing here knows a template.
import { chatFault } from "../domain/chat.ts";
import { joinedText, textOfPart } from "../domain/content-part.ts";
import { quoted, ServiceError, type Fault } from "../domain/service-error.ts";
import type { Json, JsonObject, MessageRecord } from "../domain/trajectory.ts";
import type { ContentFormat } from "./content-format.ts";

/**
 * Prepares the messages.
 *
 * @throws ServiceError `unsupported` naming every content and every part that is no text, or the first arguments of a
 * tool call that are no JSON
 */
export function toTemplateMessages(
  messages: readonly MessageRecord[],
  format: ContentFormat,
): readonly JsonObject[] {
  const faults = messages.flatMap(({ content }, index) => contentFaults(content ?? null, String(index)));
  if (faults.length > 0) throw unsupported(faults);
  return messages.map((message, index) => toTemplateMessage(message, format, String(index)));
}

function contentFaults(content: Json, index: string): readonly Fault[] {
  const fault = (message: string, ...below: readonly string[]): Fault =>
    chatFault("prompt.messages", { message, type: "unsupported", below: [index, "content", ...below] });
  if (content === null || typeof content === "string") return [];
  if (!isJsonArray(content)) return [fault("A message's content must be a text, a list of parts or null.")];
  return content.flatMap((part, place) => {
    if (textOfPart(part) !== null) return [];
    const type = isJsonObject(part) && typeof part.type === "string" ? quoted(part.type) : "null";
    const message = `This model reads text only; a content part of type ${type} cannot be shown to it.`;
    return [fault(message, String(place))];
  });
}

function toTemplateMessage(message: MessageRecord, format: ContentFormat, index: string): JsonObject {
  const { content, tool_calls: toolCalls, reasoning, reasoning_content: reasoningContent, ...rest } = message;
  const thought = reasoning ?? reasoningContent ?? null;
  return {
    ...withoutNulls(rest),
    content:
      format === "string"
        ? (joinedText(content ?? null) ?? "")
        : contentTexts(content ?? null).map((text) => ({ type: "text", text })),
    ...(thought === null ? {} : { reasoning: thought, reasoning_content: thought }),
    ...(isJsonArray(toolCalls) && toolCalls.length > 0
      ? {
          tool_calls: toolCalls.map((call, place) =>
            toTemplateCall(call, [index, "tool_calls", String(place)]),
          ),
        }
      : {}),
  };
}

/** The text parts of a content without faults, in order; none for null. */
function contentTexts(content: Json): readonly string[] {
  if (content === null) return [];
  return (isJsonArray(content) ? content : [content]).map((part) => textOfPart(part) ?? "");
}

/** Models of every maker's template expect `function.arguments` as an object, while the API carries it as JSON text. */
function toTemplateCall(call: Json, place: readonly string[]): Json {
  if (!isJsonObject(call) || call.function === undefined || !isJsonObject(call.function)) return call;
  const { arguments: text } = call.function;
  if (typeof text !== "string") return call;
  return { ...call, function: { ...call.function, arguments: parseArguments(text, place) } };
}

function parseArguments(text: string, place: readonly string[]): Json {
  if (text.trim() === "") return {};
  try {
    return JSON.parse(text) as Json;
  } catch (cause) {
    const message = `The arguments of a tool call in the messages are not valid JSON: ${quoted(text)}.`;
    const below = [...place, "function", "arguments"];
    throw unsupported([chatFault("prompt.messages", { message, type: "value_error", below })], cause);
  }
}

function withoutNulls(object: JsonObject): JsonObject {
  return Object.fromEntries(Object.entries(object).filter(([, value]) => value !== null));
}

function isJsonArray(value: Json | undefined): value is readonly Json[] {
  return Array.isArray(value);
}

function isJsonObject(value: Json): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function unsupported(faults: readonly Fault[], cause?: unknown): ServiceError {
  return new ServiceError({ code: "unsupported", faults, cause });
}

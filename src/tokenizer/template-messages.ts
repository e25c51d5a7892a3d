// A conversation's messages as a chat template sees them: content in the form it expects, arguments of tool calls as
// objects, null members left out. Input is in the API's own spelling; nothing here knows a template.
import { textOfPart } from "../domain/content-part.ts";
import { ServiceError } from "../domain/service-error.ts";
import type { Json, JsonObject, MessageRecord } from "../domain/trajectory.ts";
import type { ContentFormat } from "./content-format.ts";

/**
 * Prepares one message.
 *
 * @throws ServiceError `unsupported` for content that is no text, or arguments of a tool call that are no JSON
 */
export function toTemplateMessage(message: MessageRecord, format: ContentFormat): JsonObject {
  const { content, tool_calls: toolCalls, reasoning, reasoning_content: reasoningContent, ...rest } = message;
  const texts = contentTexts(content ?? null);
  const thought = reasoning ?? reasoningContent ?? null;
  return {
    ...withoutNulls(rest),
    content: format === "string" ? texts.join("\n") : texts.map((text) => ({ type: "text", text })),
    ...(thought === null ? {} : { reasoning: thought, reasoning_content: thought }),
    ...(isJsonArray(toolCalls) && toolCalls.length > 0 ? { tool_calls: toolCalls.map(toTemplateCall) } : {}),
  };
}

/** The text parts of a content, in order; none for null. */
function contentTexts(content: Json): readonly string[] {
  if (content === null) return [];
  if (typeof content === "string") return [content];
  if (!isJsonArray(content))
    throw unsupported("A message's content must be a text, a list of parts or null.");
  return content.map((part) => {
    const text = textOfPart(part);
    if (text !== null) return text;
    const type = isJsonObject(part) ? part.type : null;
    throw unsupported(
      `A message has a content part of type ${JSON.stringify(type ?? null)}; this model reads text parts only.`,
    );
  });
}

/** Models of every maker's template expect `function.arguments` as an object, while the API carries it as JSON text. */
function toTemplateCall(call: Json): Json {
  if (!isJsonObject(call) || call.function === undefined || !isJsonObject(call.function)) return call;
  const { arguments: text } = call.function;
  if (typeof text !== "string") return call;
  return { ...call, function: { ...call.function, arguments: parseArguments(text) } };
}

function parseArguments(text: string): Json {
  if (text.trim() === "") return {};
  try {
    return JSON.parse(text) as Json;
  } catch (cause) {
    throw new ServiceError({
      code: "unsupported",
      message: `The arguments of a tool call in the messages are not valid JSON: ${JSON.stringify(text.slice(0, 200))}.`,
      cause,
    });
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

function unsupported(message: string): ServiceError {
  return new ServiceError({
    code: "unsupported",
    message,
    faults: [{ location: ["body", "messages"], message, type: "value_error" }],
  });
}

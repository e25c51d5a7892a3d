// A conversation's messages as a chat template sees them: content in the form it expects, arguments of tool calls as
// objects, null members left out. Input is in the API's own spelling; nothing here knows a template.
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

/** Where the parts of each kind keep their text. */
const textMembers: Readonly<Record<string, string>> = {
  text: "text",
  input_text: "text",
  output_text: "text",
  refusal: "refusal",
  thinking: "thinking",
};

/** The text parts of a content, in order; none for null. */
function contentTexts(content: Json): readonly string[] {
  if (content === null) return [];
  if (typeof content === "string") return [content];
  if (!isJsonArray(content))
    throw unsupported("A message's content must be a text, a list of parts or null.");
  return content.map((part) => {
    if (typeof part === "string") return part;
    const type = isJsonObject(part) ? part.type : undefined;
    const member = typeof type === "string" && Object.hasOwn(textMembers, type) ? textMembers[type] : null;
    const text = member !== null && isJsonObject(part) ? part[member] : undefined;
    if (typeof text === "string") return text;
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

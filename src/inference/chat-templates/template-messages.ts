// Prepares a conversation's messages for a chat template, as vLLM 0.32 does.
// * Content is converted to the format that the template expects.
// * Arguments of tool calls become objects; invalid arguments of an earlier call are dropped.
// * Null members are dropped.
// * Developer messages become system messages if the template does not know the role `developer`.
//
// Messages have the API's field names. Nothing here depends on a specific template.
import { chatFault, type Conversation } from "../../base/domain/chat.ts";
import { joinedText, textOfPart } from "../../base/domain/content-part.ts";
import { quoted, ServiceError, type Fault } from "../../base/domain/service-error.ts";
import { isJsonObject, type Json } from "../../base/domain/text/json.ts";
import type { MessageRecord } from "../../base/domain/trajectory.ts";
import { fromJson, parseJson } from "../../lib/jinja/json-text.ts";
import { Dict, type Value } from "../../lib/jinja/values/value.ts";
import type { ContentFormat } from "./content-format.ts";

/** Fields of a conversation that determine how its messages are prepared. */
type TemplateConversation = Pick<Conversation, "messages" | "continueFinalMessage">;

/** Properties of a template that determine how messages are prepared. */
export interface MessageReading {
  readonly format: ContentFormat;
  /**
   * True if the template handles the role `developer`. For other templates, developer messages become system messages.
   */
  readonly knowsDeveloper: boolean;
  /** True to join all system messages into the first, for templates that refuse any later system message. */
  readonly joinsSystem: boolean;
}

/**
 * Prepares the messages of a conversation for a template.
 *
 * @throws ServiceError `unsupported` naming each content and part that is not text, or arguments of the last message's
 * calls that are not JSON
 */
export function toTemplateMessages(conversation: TemplateConversation, reading: MessageReading): Value[] {
  const { messages } = conversation;
  const faults = messages.flatMap(({ content }, index) => contentFaults(content ?? null, String(index)));
  if (faults.length > 0) throw unsupported(faults);
  const { format, knowsDeveloper, joinsSystem } = reading;
  const prepare = (message: MessageRecord): Dict =>
    toTemplateMessage(message, format, message === messages.at(-1) ? messages.length - 1 : null);
  const hasDeveloper = !knowsDeveloper && messages.some(({ role }) => role === "developer");
  const read = hasDeveloper ? messages.map(developerAsSystem) : messages;
  if (!(hasDeveloper || joinsSystem) || !hasLaterSystem({ ...conversation, messages: read }))
    return read.map(prepare);
  const others = read.filter((message) => !isSystem(message));
  return [joinedSystem(read.filter(isSystem)), ...others.map(prepare)];
}

/**
 * True if a system message follows another message and can be joined into the first system message. A final message
 * that will be continued is never moved, because the prompt would then end within the first message.
 */
export function hasLaterSystem({ messages, continueFinalMessage }: TemplateConversation): boolean {
  const last = messages.at(-1);
  if (continueFinalMessage && last !== undefined && isSystem(last)) return false;
  return messages.slice(1).some(isSystem);
}

function isSystem({ role }: MessageRecord): boolean {
  return role === "system";
}

function developerAsSystem(message: MessageRecord): MessageRecord {
  if (message.role !== "developer") return message;
  const { tools: _tools, ...rest } = message;
  return { ...rest, role: "system" };
}

/**
 * Joins all system messages into one. The content of the result is always a text, even for a template that expects
 * parts.
 */
function joinedSystem(messages: readonly MessageRecord[]): Dict {
  const texts = messages.map(({ content }) => joinedText(content ?? null) ?? "");
  const content = texts.filter((text) => text !== "").join("\n\n");
  return toTemplateMessage({ role: "system", content }, "string", null);
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

/**
 * Prepares one message for a template.
 *
 * @param last index of the message if it is the last one; null for an earlier message. The calls of the last message
 * must be valid, because it may be trained on
 */
function toTemplateMessage(message: MessageRecord, format: ContentFormat, last: number | null): Dict {
  const {
    role,
    content,
    tool_calls: toolCalls,
    reasoning,
    reasoning_content: reasoningContent,
    ...rest
  } = message;
  const thought = reasoning ?? reasoningContent ?? null;
  const prepared = Dict.of([
    ["role", fromJson(role)],
    ["content", contentOf(content ?? null, role === "tool" ? "string" : format)],
  ]);
  if (isJsonArray(toolCalls) && toolCalls.length > 0) {
    const calls = toolCalls.map((call, place) =>
      toTemplateCall(call, last === null ? null : [String(last), "tool_calls", String(place)]),
    );
    prepared.set("tool_calls", calls);
  }
  if (thought !== null) {
    prepared.set("reasoning", fromJson(thought));
    prepared.set("reasoning_content", fromJson(thought));
  }
  for (const [name, value] of Object.entries(rest)) if (value !== null) prepared.set(name, fromJson(value));
  return prepared;
}

/**
 * Converts a message's content to the format that the template expects. Messages of tools always get one text, because
 * no template loops over their content.
 */
function contentOf(content: Json, format: ContentFormat): Value {
  if (format === "string") return joinedText(content) ?? "";
  return contentTexts(content).map((text) =>
    Dict.of([
      ["type", "text"],
      ["text", text],
    ]),
  );
}

/** Returns the text parts of a valid content, in order. Null content has no parts. */
function contentTexts(content: Json): readonly string[] {
  if (content === null) return [];
  return (isJsonArray(content) ? content : [content]).map((part) => textOfPart(part) ?? "");
}

/**
 * Converts a tool call for the template: `function.arguments` becomes an object, while the API carries the arguments as
 * JSON text.
 *
 * @param place path of the call for error messages; null for a call of an earlier message, whose invalid arguments are
 * dropped as in vLLM. Otherwise one mistake of a model would make each later turn fail.
 */
function toTemplateCall(call: Json, place: readonly string[] | null): Value {
  const prepared = fromJson(call);
  const called = prepared instanceof Dict ? prepared.get("function") : undefined;
  const text = called instanceof Dict ? called.get("arguments") : undefined;
  if (called instanceof Dict && typeof text === "string")
    called.set("arguments", place === null ? earlierArguments(text) : parseArguments(text, place));
  return prepared;
}

function earlierArguments(text: string): Value {
  const parsed = jsonOrNull(text);
  return parsed instanceof Dict ? parsed : new Dict();
}

function jsonOrNull(text: string): Value {
  try {
    return parseJson(text);
  } catch {
    // The arguments are dropped without an error: the model wrote them, and the client that sends them back cannot
    // repair them.
    return null;
  }
}

/** Parses the arguments of a call. Keeps the digits of numbers as written, and the order of members. */
function parseArguments(text: string, place: readonly string[]): Value {
  if (text.trim() === "") return new Dict();
  try {
    return parseJson(text);
  } catch (cause) {
    const message = `The arguments of a tool call in the messages are not valid JSON: ${quoted(text)}.`;
    const below = [...place, "function", "arguments"];
    throw unsupported([chatFault("prompt.messages", { message, type: "value_error", below })], cause);
  }
}

function isJsonArray(value: Json | undefined): value is readonly Json[] {
  return Array.isArray(value);
}

function unsupported(faults: readonly Fault[], cause?: unknown): ServiceError {
  return new ServiceError({ code: "unsupported", faults, cause });
}

// Translates paths in a chat request or text completion to paths in the request of Ollama's API from which it was
// built.
import { relocate } from "../field-paths.ts";
import { chatNames } from "./options.ts";

type Place = readonly string[];

/**
 * Paths at which the client sent the messages, by index in the chat request. A message without an entry has the same
 * path in both requests.
 */
export type SentMessages = readonly Place[];

/** Members of messages that have another name in Ollama's API. */
const memberNames: Readonly<Record<string, string>> = {
  name: "tool_name",
  reasoning_content: "thinking",
};

const renamed: Readonly<Record<string, Place>> = {
  ...Object.fromEntries(Object.entries(chatNames).map(([option, chat]) => [chat, ["options", option]])),
  max_completion_tokens: ["options", "num_predict"],
  reasoning_effort: ["think"],
  chat_template_kwargs: ["think"],
  continue_final_message: ["messages"],
};

/** Returns the error with each fault at the path where the client sent the field. */
export function toSentError(error: unknown, messages: SentMessages): unknown {
  return relocate(error, (location) => toSentPath(location, messages));
}

/**
 * Returns the path at which the client sent a field.
 *
 * @param location path in the chat request, which begins with `body`
 */
export function toSentPath(location: Place, messages: SentMessages): Place {
  const [part, name = "", ...below] = location;
  if (part !== "body") return location;
  if (name === "messages") {
    const [index = "", ...rest] = below;
    const sent = messages[Number(index)];
    if (messages.length > 0) return ["body", ...(sent ?? messages[0])];
    return ["body", name, ...below.slice(0, 1), ...rest.map((member) => memberNames[member] ?? member)];
  }
  // In a chat request, a schema is two members deeper than in Ollama's: `response_format.json_schema.schema`.
  if (name === "response_format") return ["body", "format", ...below.slice(2)];
  return ["body", ...(Object.hasOwn(renamed, name) ? renamed[name] : [name]), ...below];
}

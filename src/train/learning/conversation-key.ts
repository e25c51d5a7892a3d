// Recognizes conversations by their first text, and repeated turns by hashes. Clients repeat earlier messages in each
// request, with small differences that the hashes ignore: white space at the ends, and content in several parts.
import { createHash } from "node:crypto";
import { textOfPart } from "../../base/domain/content-part.ts";
import type { RecordedPrompt } from "../../base/domain/recordings/recorded-completion.ts";
import { type Json, isJsonObject } from "../../base/domain/text/json.ts";
import type { MessageRecord } from "../../base/domain/trajectory.ts";

/**
 * True if a conversation is used only for evaluation. The result depends only on the first user message and the share,
 * so it is the same for all requests of a conversation.
 *
 * @param promptHash hash of the prompt's tokens, which replaces the first user message if the prompt has no text
 */
export function isHeldOut(prompt: RecordedPrompt, promptHash: string, share: number): boolean {
  const digest = createHash("sha256")
    .update(firstText(prompt) ?? promptHash)
    .digest();
  return digest.readUInt32BE(0) / 2 ** 32 < share;
}

/** Returns the first user message of a conversation, or the text of a text prompt; null if there is neither. */
function firstText(prompt: RecordedPrompt): string | null {
  if (prompt.kind === "text") return prompt.text;
  const first =
    prompt.kind === "conversation" ? prompt.messages.find(({ role }) => role === "user") : undefined;
  return first === undefined ? null : messageText(first);
}

/** Returns the text of a message without white space at its ends. */
export function messageText({ content }: MessageRecord): string {
  if (typeof content === "string") return content.trim();
  if (!Array.isArray(content)) return "";
  return content
    .map((part: Json) => textOfPart(part) ?? "")
    .join("")
    .trim();
}

/** Returns a hash of messages. It stays the same if a client repeats the messages with small differences. */
export function turnHash(messages: readonly MessageRecord[]): string {
  const turns = messages.map((message) => [message.role, messageText(message), callsOf(message)]);
  return createHash("sha256").update(JSON.stringify(turns)).digest("hex");
}

/** Returns names and arguments of the tool calls in a message, but not the ids, which some clients change. */
function callsOf({ tool_calls: calls }: MessageRecord): Json {
  if (!Array.isArray(calls)) return [];
  return calls.map((call: Json) => {
    const called = isJsonObject(call) ? call["function"] : null;
    return isJsonObject(called) ? [called["name"] ?? null, called["arguments"] ?? null] : null;
  });
}

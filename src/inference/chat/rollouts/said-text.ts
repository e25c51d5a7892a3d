// Compares messages of requests with earlier answers. A message has the same hash in all forms in which clients return
// an answer: text as a string or in parts, tool calls with any ids and any spacing, with or without reasoning.
import { hash } from "node:crypto";
import { joinedText } from "../../../base/domain/content-part.ts";
import type { RecordedChoice } from "../../../base/domain/recordings/recorded-completion.ts";
import type { Json, JsonObject } from "../../../base/domain/text/json.ts";
import type { MessageRecord } from "../../../base/domain/trajectory.ts";

/** Returns the hash of a conversation that has these tools, but no messages yet. */
export function startHash(tools: readonly JsonObject[] | null): string {
  return hash("sha256", JSON.stringify(tools === null || tools.length === 0 ? null : tools));
}

/** Returns the hash of a conversation with one more message. */
export function nextHash(before: string, said: string): string {
  return hash("sha256", `${before}\n${said}`);
}

/** Returns a text that is equal for messages with the same role, text and calls. */
export function saidText({ role, content, tool_calls: calls, tool_call_id: id }: MessageRecord): string {
  const called = Array.isArray(calls) ? calls.map((call) => callText(call)) : [];
  return said(role, joinedText(content ?? null) ?? "", called, id ?? null);
}

/** Returns the text that {@link saidText} returns for a message with this answer. */
export function answeredText({ text, toolCalls }: RecordedChoice): string {
  const called = toolCalls.map(({ name, argumentsText }) =>
    JSON.stringify([name, canonicalOf(argumentsText)]),
  );
  return said("assistant", text, called, null);
}

function said(role: string, text: string, calls: readonly string[], id: Json): string {
  return JSON.stringify([role, text.trim(), calls, role === "tool" ? id : null]);
}

function callText(call: Json): string {
  // Safe casts: the fields of a call are compared as they are, and may have any type.
  const { function: called, custom } = (call ?? {}) as JsonObject;
  const { name, arguments: written, input } = (called ?? custom ?? {}) as JsonObject;
  const text = written ?? input ?? "";
  return JSON.stringify([name ?? null, typeof text === "string" ? canonicalOf(text) : canonical(text)]);
}

function canonicalOf(text: string): Json {
  try {
    return canonical(JSON.parse(text) as Json);
  } catch {
    return text;
  }
}

/** Replaces objects by lists of their members in sorted order, so that equal values give the same text. */
function canonical(value: Json): Json {
  if (Array.isArray(value)) return value.map(canonical);
  if (typeof value !== "object" || value === null) return value;
  const members = Object.entries(value).toSorted(([one], [other]) => (one < other ? -1 : 1));
  return members.map(([name, member]) => [name, canonical(member ?? null)]);
}

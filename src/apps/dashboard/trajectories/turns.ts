// Converts a stored trajectory to the turns that the page shows: messages that the client sent, and answers with their
// tokens.
import { type ShownToken, shownTokens, type TokenBody } from "./tokens.ts";

/** A parsed JSON object. */
type Body = Readonly<Record<string, unknown>>;

export interface ToolCall {
  readonly id: string | null;
  readonly name: string;
  /** Arguments of the call: indented if they are JSON, otherwise unchanged. */
  readonly argumentsText: string;
}

export interface Turn {
  readonly role: string;
  /** True if the model generated the turn, so that training includes its tokens. */
  readonly isReply: boolean;
  readonly text: string;
  /** Reasoning before the answer; null if there is none. */
  readonly thoughts: string | null;
  readonly toolCalls: readonly ToolCall[];
  /** Id of the tool call whose result this turn is; null for other turns. */
  readonly toolCallId: string | null;
  readonly finishReason: string | null;
  /** Tokens of the answer; null if log-probabilities were not recorded. */
  readonly tokens: readonly ShownToken[] | null;
}

/** The main conversation of a trajectory, or an additional one. */
export interface Branch {
  readonly name: string;
  readonly turns: readonly Turn[];
  readonly toolNames: readonly string[];
}

/** Returns the main conversation, followed by the additional ones. */
export function branchesOf(trajectory: Body): readonly Branch[] {
  const others = listOf(trajectory["additional_histories"]).map((history, index) =>
    branchOf(`Branch ${index + 1}`, history),
  );
  return [branchOf("Conversation", trajectory), ...others];
}

function branchOf(name: string, history: Body): Branch {
  return {
    name,
    turns: listOf(history["messages_and_choices"]).map(turnOf),
    toolNames: listOf(history["tools"]).flatMap((tool) => nameOf(objectOf(tool["function"])) ?? []),
  };
}

function turnOf(item: Body): Turn {
  const isReply = "finish_reason" in item && typeof item["message"] === "object";
  const message = isReply ? objectOf(item["message"]) : item;
  const logprobs = listOf(objectOf(item["logprobs"])["content"]);
  return {
    role: textOf(message["role"]) ?? "assistant",
    isReply,
    text: contentText(message["content"]),
    thoughts: textOf(message["reasoning"]) ?? textOf(message["reasoning_content"]),
    toolCalls: listOf(message["tool_calls"]).map(callOf),
    toolCallId: textOf(message["tool_call_id"]),
    finishReason: isReply ? textOf(item["finish_reason"]) : null,
    // Safe cast: the server validated the tokens when it stored them.
    tokens: logprobs.length === 0 ? null : shownTokens(logprobs as unknown as readonly TokenBody[]),
  };
}

function contentText(content: unknown): string {
  if (typeof content === "string") return content;
  return listOf(content)
    .map((part) => textOf(part["text"]) ?? `[${textOf(part["type"]) ?? "part"}]`)
    .join("\n");
}

function callOf(call: Body): ToolCall {
  const called = objectOf(call["function"]);
  return {
    id: textOf(call["id"]),
    name: nameOf(called) ?? "unnamed",
    argumentsText: indented(called["arguments"]),
  };
}

function indented(given: unknown): string {
  if (typeof given !== "string") return JSON.stringify(given ?? {}, null, 2);
  return indentedJson(given) ?? given;
}

/** Returns a JSON object or list with indentation; null for other texts. */
export function indentedJson(text: string): string | null {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === "object" && value !== null ? JSON.stringify(value, null, 2) : null;
  } catch {
    return null;
  }
}

function nameOf(body: Body): string | null {
  return textOf(body["name"]);
}

function textOf(value: unknown): string | null {
  return typeof value === "string" && value !== "" ? value : null;
}

function objectOf(value: unknown): Body {
  return typeof value === "object" && value !== null && !Array.isArray(value) ? (value as Body) : {};
}

function listOf(value: unknown): readonly Body[] {
  return Array.isArray(value) ? value.map(objectOf) : [];
}

// Converts the calls of a rollout to histories for training. A call that continues an earlier call adds a turn to that
// call's history; any other call starts a new history, as does each additional answer of a call. Each generated answer
// is a Choice, and is trained on, in only one history.
import type { JsonObject } from "./model-request.ts";
import type { RecordedCall } from "./recording-fetch.ts";

export interface RecordedHistory {
  /** Messages, with a Choice in place of each answer that the model generated. */
  readonly items: readonly JsonObject[];
  readonly tools: readonly JsonObject[] | null;
}

interface Growing {
  readonly items: JsonObject[];
  /** Canonical text of each item, for comparison with messages of later requests. */
  readonly said: string[];
  readonly tools: readonly JsonObject[] | null;
}

/**
 * Returns the histories that the calls form.
 *
 * @param calls in the order in which they began
 */
export function historiesOf(calls: readonly RecordedCall[]): readonly RecordedHistory[] {
  const histories: Growing[] = [];
  for (const { request, choices } of calls) {
    const messages = (request["messages"] ?? []) as readonly JsonObject[];
    const tools = toolsOf(request);
    const said = messages.map(canonicalText);
    choices.forEach((choice, position) => {
      const before = position === 0 ? findContinued(histories, said, tools) : undefined;
      const history = before ?? { items: [], said: [], tools };
      if (before === undefined) histories.push(history);
      const isNew = (_: unknown, index: number): boolean => index >= history.said.length;
      history.items.push(...messages.filter(isNew), { ...promptFieldsOf(request), ...choice });
      history.said.push(...said.filter(isNew), canonicalText(choice["message"] as JsonObject));
    });
  }
  return histories;
}

/**
 * Returns the request with the exact tokens of the last answer that it continues, attached to the message that returns
 * the answer. The server then begins the prompt with these tokens instead of tokenizing the text again.
 */
export function withSampledTokens(request: JsonObject, calls: readonly RecordedCall[]): JsonObject {
  const { messages } = request;
  if (!Array.isArray(messages)) return request;
  const said = (messages as readonly JsonObject[]).map(canonicalText);
  const wanted = JSON.stringify(toolsOf(request));
  let answered: { readonly index: number; readonly choice: JsonObject } | null = null;
  for (const call of calls) {
    const asked = (call.request["messages"] ?? []) as readonly JsonObject[];
    const index = asked.length;
    if (index >= said.length || index <= (answered?.index ?? -1)) continue;
    if (JSON.stringify(toolsOf(call.request)) !== wanted) continue;
    if (!asked.every((message, at) => canonicalText(message) === said[at])) continue;
    const choice = call.choices.find(({ message }) => canonicalText(message as JsonObject) === said[index]);
    if (choice !== undefined) answered = { index, choice };
  }
  if (answered === null) return request;
  const { index, choice } = answered;
  const { prompt_token_ids: prompt, token_ids: own } = choice;
  const exact = { prompt_token_ids: prompt, token_ids: own };
  return {
    ...request,
    messages: (messages as readonly JsonObject[]).map((message, at) =>
      at === index ? { ...message, ...exact } : message,
    ),
  };
}

/** Returns the longest history that a call continues; undefined if it continues none. */
function findContinued(
  histories: readonly Growing[],
  said: readonly string[],
  tools: Growing["tools"],
): Growing | undefined {
  const wanted = JSON.stringify(tools);
  return histories
    .filter((history) => JSON.stringify(history.tools) === wanted)
    .filter((history) => history.said.every((one, index) => one === said[index]))
    .toSorted((one, other) => other.said.length - one.said.length)[0];
}

function toolsOf({ tools }: JsonObject): Growing["tools"] {
  return Array.isArray(tools) && tools.length > 0 ? (tools as readonly JsonObject[]) : null;
}

/**
 * Returns a message's canonical text. It is the same for all forms in which libraries return an answer: text as a
 * string or in parts, tool calls with any ids, with or without reasoning.
 */
function canonicalText({ role, content, tool_calls: calls, tool_call_id: id }: JsonObject): string {
  const called = Array.isArray(calls) ? (calls as readonly JsonObject[]).map(callOf) : [];
  return JSON.stringify([role, textOf(content), called, id ?? null]);
}

function textOf(content: unknown): string {
  if (!Array.isArray(content)) return typeof content === "string" ? content : "";
  return (content as readonly JsonObject[])
    .map(({ text }) => (typeof text === "string" ? text : ""))
    .join("\n");
}

function callOf({ function: called, custom }: JsonObject): unknown {
  const { name, arguments: written, input } = (called ?? custom ?? {}) as JsonObject;
  try {
    return [name, canonical(JSON.parse(String(written)))];
  } catch {
    return [name, written ?? input];
  }
}

/** Replaces objects by lists of their members in sorted order, so that equal values give the same text. */
function canonical(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(canonical);
  if (typeof value !== "object" || value === null) return value;
  const members = Object.entries(value).toSorted(([one], [other]) => (one < other ? -1 : 1));
  return members.map(([name, member]) => [name, canonical(member)]);
}

/** Request fields that affect the prompt, besides messages and tools. They are stored in the Choice. */
const promptNames = [
  "documents",
  "chat_template",
  "chat_template_kwargs",
  "reasoning_effort",
  "add_generation_prompt",
  "continue_final_message",
  "add_special_tokens",
  "truncate_prompt_tokens",
];

function promptFieldsOf(request: JsonObject): JsonObject {
  return Object.fromEntries(
    Object.entries(request).filter(([name, value]) => promptNames.includes(name) && value !== null),
  );
}

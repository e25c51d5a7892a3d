// From the calls of a rollout to its histories, as training takes them. A call whose messages go on from an earlier one is
// a further turn of its history; any other begins a history of its own, as the further answers of one call do. What the
// model said stands as a Choice, and trains, in one history alone.
import type { JsonObject } from "./model-request.ts";
import type { RecordedCall } from "./recording-fetch.ts";

export interface RecordedHistory {
  /** Messages, and Choices where the model answered. */
  readonly items: readonly JsonObject[];
  readonly tools: readonly JsonObject[] | null;
}

interface Growing {
  readonly items: JsonObject[];
  /** What each item says, to compare. */
  readonly said: string[];
  readonly tools: readonly JsonObject[] | null;
}

/** @param calls in the order they began */
export function historiesOf(calls: readonly RecordedCall[]): readonly RecordedHistory[] {
  const histories: Growing[] = [];
  for (const { request, choices } of calls) {
    const messages = (request["messages"] ?? []) as readonly JsonObject[];
    const tools = toolsOf(request);
    const said = messages.map(saidBy);
    choices.forEach((choice, position) => {
      const before = position === 0 ? continued(histories, said, tools) : undefined;
      const history = before ?? { items: [], said: [], tools };
      if (before === undefined) histories.push(history);
      const isNew = (_: unknown, index: number): boolean => index >= history.said.length;
      history.items.push(...messages.filter(isNew), { ...promptFieldsOf(request), ...choice });
      history.said.push(...said.filter(isNew), saidBy(choice["message"] as JsonObject));
    });
  }
  return histories;
}

/**
 * Returns the request with the exact tokens of the last answer that it continues, on the message that sends it back: the
 * server then begins the prompt with them, in place of tokenizing the text anew.
 */
export function withSampledTokens(request: JsonObject, calls: readonly RecordedCall[]): JsonObject {
  const { messages } = request;
  if (!Array.isArray(messages)) return request;
  const said = (messages as readonly JsonObject[]).map(saidBy);
  const wanted = JSON.stringify(toolsOf(request));
  let answered: { readonly index: number; readonly choice: JsonObject } | null = null;
  for (const call of calls) {
    const asked = (call.request["messages"] ?? []) as readonly JsonObject[];
    const index = asked.length;
    if (index >= said.length || index <= (answered?.index ?? -1)) continue;
    if (JSON.stringify(toolsOf(call.request)) !== wanted) continue;
    if (!asked.every((message, at) => saidBy(message) === said[at])) continue;
    const choice = call.choices.find(({ message }) => saidBy(message as JsonObject) === said[index]);
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

/** The longest history that a call goes on from. */
function continued(
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
 * What a message says, however a library spells it when it sends an answer back: texts in parts or as one, calls with or
 * without ids, with or without thoughts.
 */
function saidBy({ role, content, tool_calls: calls, tool_call_id: id }: JsonObject): string {
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

/** The same text for the same value, whatever the order of its members. */
function canonical(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(canonical);
  if (typeof value !== "object" || value === null) return value;
  const members = Object.entries(value).toSorted(([one], [other]) => (one < other ? -1 : 1));
  return members.map(([name, member]) => [name, canonical(member)]);
}

/** What a request can say of its prompt, beside messages and tools; a Choice keeps it. */
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

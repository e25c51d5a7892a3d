// Converts the messages of a chat request of Ollama's API to chat messages, one to one.
import { exactJsonText, type ExactJson } from "../../../base/domain/text/exact-json.ts";
import { omitUndefined } from "../chat/shared-fields.ts";
import type { ChatBody } from "./chat-request.ts";

export type Message = NonNullable<ChatBody["messages"]>[number];

/** A tool call that no tool message has answered yet. */
interface OpenCall {
  readonly id: string;
  readonly name: string;
}

/**
 * Returns the chat messages. Calls without an id get one here, because Ollama's clients often send none. A tool message
 * without an id answers the first open call of the function that it names, and gets the id of that call.
 */
export function inputMessages(messages: readonly Message[]): readonly object[] {
  const open: OpenCall[] = [];
  let count = 0;
  return messages.map((message) => {
    const { role, content, thinking, tool_calls: calls, tool_name: name } = message;
    const called = (calls ?? []).map((call) => {
      // The id has nine letters and digits, as some chat templates require.
      const id = call.id ?? `call${String((count += 1)).padStart(5, "0")}`;
      open.push({ id, name: call.function.name });
      // Safe cast: parsed from JSON.
      const text = exactJsonText((call.function.arguments ?? {}) as ExactJson);
      return { id, type: "function", function: { name: call.function.name, arguments: text } };
    });
    return omitUndefined({
      role: role.toLowerCase(),
      content: content ?? (called.length > 0 ? null : ""),
      name: name ?? undefined,
      reasoning_content: thinking ?? undefined,
      tool_calls: called.length > 0 ? called : undefined,
      tool_call_id: role.toLowerCase() === "tool" ? takeCall(open, message) : undefined,
    });
  });
}

/** Removes the call that a tool message answers, and returns its id; undefined if there is none. */
function takeCall(open: OpenCall[], { tool_call_id: id, tool_name: name }: Message): string | undefined {
  const wanted = (id ?? "") !== "" ? open.findIndex((call) => call.id === id) : -1;
  const namesake = wanted >= 0 ? wanted : open.findIndex((call) => call.name === name);
  const [call] = open.splice(Math.max(0, namesake), 1);
  return (id ?? "") !== "" ? (id ?? undefined) : call?.id;
}

/** True if the last message is an assistant message without tool calls. The model then continues it. */
export function continuesLast(messages: readonly Message[]): boolean {
  const last = messages.at(-1);
  return last?.role.toLowerCase() === "assistant" && (last.tool_calls ?? []).length === 0;
}

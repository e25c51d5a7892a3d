// Converts the items of a conversation to chat messages. The thoughts, text and calls of one assistant turn become one
// message. Records for each message from which path in the body it came.
import type { ResponsesRequestBody } from "./responses-request.ts";

type Item = Exclude<ResponsesRequestBody["input"], string>[number];

type Place = readonly string[];

/** Paths in the client's body from which a chat message was built. */
export interface MessageOrigin {
  readonly place: Place;
  /** For each tool call of the message, its path in the client's body. */
  readonly callPaths: readonly Place[];
}

export interface InputMessage {
  readonly message: Readonly<Record<string, unknown>>;
  readonly origin: MessageOrigin;
}

interface OpenTurn {
  content: unknown;
  reasoning: string;
  readonly calls: object[];
  readonly place: Place;
  readonly callPaths: Place[];
}

/** Converts the items of a conversation to chat messages. The instructions become the first message. */
export function inputMessages({
  instructions,
  input,
}: Pick<ResponsesRequestBody, "instructions" | "input">): readonly InputMessage[] {
  const messages: InputMessage[] = [];
  const add = (place: Place, message: InputMessage["message"]): void =>
    void messages.push({ message, origin: { place, callPaths: [] } });
  if ((instructions ?? null) !== null) add(["instructions"], { role: "system", content: instructions });
  if (typeof input === "string") {
    add(["input"], { role: "user", content: input });
    return messages;
  }
  let turn: OpenTurn | null = null;
  const endTurn = (): void => {
    if (turn !== null) messages.push(turnMessage(turn));
    turn = null;
  };
  for (const [index, item] of input.entries()) {
    const place = ["input", String(index)];
    const type = item.type ?? "message";
    if (type === "function_call_output" || type === "custom_tool_call_output") {
      endTurn();
      add(place, { role: "tool", tool_call_id: item.call_id, content: item.output });
    } else if (type === "message" && item.role !== "assistant") {
      endTurn();
      add(place, { role: item.role, content: item.content });
    } else {
      // The items of a turn come in the order thoughts, text, calls. An item out of this order begins another turn.
      if (type !== "function_call" && type !== "custom_tool_call" && isSaid(turn, type)) endTurn();
      turn = withItem(turn ?? newTurn(place), item, place);
    }
  }
  endTurn();
  return messages;
}

function newTurn(place: Place): OpenTurn {
  return { content: null, reasoning: "", calls: [], place, callPaths: [] };
}

/** True if the turn already has content of this type, or of a type that comes later in a turn. */
function isSaid(turn: OpenTurn | null, type: string): boolean {
  if (turn === null) return false;
  const hasContent = turn.content !== null || turn.calls.length > 0;
  return type === "reasoning" ? hasContent || turn.reasoning !== "" : hasContent;
}

function withItem(turn: OpenTurn, item: Item, place: Place): OpenTurn {
  if (item.type === "function_call") {
    const { call_id: id, name, arguments: text } = item;
    turn.calls.push({ id, type: "function", function: { name, arguments: text } });
    turn.callPaths.push(place);
    return turn;
  }
  if (item.type === "custom_tool_call") {
    const { call_id: id, name, input } = item;
    turn.calls.push({ id, type: "custom", custom: { name, input } });
    turn.callPaths.push(place);
    return turn;
  }
  if (item.type === "reasoning") return { ...turn, reasoning: thoughtsIn(item) };
  return { ...turn, content: item.content, place };
}

/** Returns the thoughts in a reasoning item, or their summary if the item has no thoughts. */
function thoughtsIn({ content, summary }: Item): string {
  const parts = Array.isArray(content) && content.length > 0 ? content : (summary ?? []);
  const texts = parts.map((part) => {
    const text = typeof part === "object" && "text" in part ? part.text : null;
    return typeof text === "string" ? text : "";
  });
  return texts.join("\n");
}

function turnMessage({ content, reasoning, calls, place, callPaths }: OpenTurn): InputMessage {
  return {
    message: {
      role: "assistant",
      content,
      ...(reasoning === "" ? {} : { reasoning_content: reasoning }),
      ...(calls.length === 0 ? {} : { tool_calls: calls }),
    },
    origin: { place, callPaths },
  };
}

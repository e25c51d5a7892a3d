// Converts the messages of a request to chat messages. The blocks of one turn become one message, and each tool result
// becomes a message of its own. Records for the parts of each message from which path in the body they came.
import { exactJsonText, type ExactJson } from "../../../base/domain/text/exact-json.ts";
import type { CountRequestBody } from "./messages-request.ts";

type Message = CountRequestBody["messages"][number];
type Block = Exclude<Message["content"], string>[number];
type Texts = NonNullable<CountRequestBody["system"]>;

type Place = readonly string[];

/** Paths in the client's body from which a chat message was built. */
export interface MessageOrigin {
  readonly place: Place;
  /** For each text in the message's content, its path in the client's body. */
  readonly textPaths: readonly Place[];
  /** For each tool call of the message, its path in the client's body. */
  readonly callPaths: readonly Place[];
}

export interface InputMessage {
  readonly message: Readonly<Record<string, unknown>>;
  readonly origin: MessageOrigin;
}

interface Text {
  readonly text: string;
  readonly place: Place;
}

/** Either consecutive blocks of one role without a tool result, or a single tool result. */
interface Turn {
  readonly role: Message["role"] | "tool";
  readonly place: Place;
  readonly texts: Text[];
  readonly thoughts: string[];
  readonly calls: { readonly call: object; readonly place: Place }[];
  /** Id of the call that a tool result answers; absent for other turns. */
  readonly resultOf?: string | null | undefined;
}

/** Converts the messages of a request to chat messages. The system message comes first. */
export function inputMessages({
  system,
  messages,
}: Pick<CountRequestBody, "system" | "messages">): readonly InputMessage[] {
  const first = textsIn(system ?? "", ["system"]).filter(({ text }) => text !== "" && !isAttribution(text));
  const turns = first.length === 0 ? [] : [newTurn("system", ["system"], first)];
  for (const [index, { role, content }] of messages.entries()) {
    const place = ["messages", String(index)];
    const last = turns.at(-1);
    let turn = last?.role === role && role !== "system" ? last : null;
    for (const [at, block] of blocksOf(content).entries()) {
      const blockPlace = [...place, "content", ...(typeof content === "string" ? [] : [String(at)])];
      if (block.type === "tool_result") {
        turns.push(resultTurn(block, blockPlace));
        turn = null;
        continue;
      }
      if (turn === null) {
        turn = newTurn(role, place);
        turns.push(turn);
      }
      addBlock(turn, block, blockPlace);
    }
  }
  return turns.map(turnMessage);
}

/** True if the last message is an assistant message without tool calls. The model then continues it. */
export function continuesLast(messages: readonly InputMessage[]): boolean {
  const last = messages.at(-1);
  return last?.message["role"] === "assistant" && last.origin.callPaths.length === 0;
}

/**
 * True for the billing line at the beginning of Claude Code's instructions, which identifies the program and the
 * request. It differs in each request, so it would prevent prompt caching.
 */
function isAttribution(text: string): boolean {
  return text.startsWith("x-anthropic-billing-header:");
}

function blocksOf(content: Message["content"]): readonly Block[] {
  return typeof content === "string" ? [{ type: "text", text: content }] : content;
}

function addBlock(turn: Turn, block: Block, place: Place): void {
  if (block.type === "text") turn.texts.push({ text: block.text ?? "", place });
  // Drops redacted thoughts, because only the model that produced them can read them.
  if (block.type === "thinking") turn.thoughts.push(block.thinking ?? "");
  if (block.type !== "tool_use") return;
  // Safe cast: parsed from JSON.
  const text = exactJsonText((block.input ?? {}) as ExactJson);
  const call = { id: block.id, type: "function", function: { name: block.name, arguments: text } };
  turn.calls.push({ call, place });
}

function turnMessage({ role, place, texts, thoughts, calls, resultOf }: Turn): InputMessage {
  const parts = texts.map(({ text }) => ({ type: "text", text }));
  // Passes a single text as a string, because some chat templates do not support text parts.
  const content = parts.length > 1 ? parts : (parts[0]?.text ?? (calls.length > 0 ? null : ""));
  return {
    message: {
      role,
      ...(resultOf === undefined ? {} : { tool_call_id: resultOf }),
      content,
      ...(thoughts.length === 0 ? {} : { reasoning_content: thoughts.join("\n") }),
      ...(calls.length === 0 ? {} : { tool_calls: calls.map(({ call }) => call) }),
    },
    origin: {
      place,
      textPaths: texts.map((text) => text.place),
      callPaths: calls.map((call) => call.place),
    },
  };
}

function newTurn(role: Turn["role"], place: Place, texts: readonly Text[] = []): Turn {
  return { role, place, texts: [...texts], thoughts: [], calls: [] };
}

function resultTurn({ tool_use_id: resultOf, content }: Block, place: Place): Turn {
  return { ...newTurn("tool", place, textsIn(content ?? "", [...place, "content"])), resultOf };
}

function textsIn(texts: Texts, place: Place): readonly Text[] {
  if (typeof texts === "string") return [{ text: texts, place }];
  return texts.map(({ text }, index) => ({ text: text ?? "", place: [...place, String(index)] }));
}

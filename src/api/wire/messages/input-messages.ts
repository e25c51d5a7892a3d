// From the messages of a request to messages of a chat: blocks of one turn become one message, and each result of a tool one
// of its own. Of each message it is remembered where its parts were sent.
import { exactJsonText, type ExactJson } from "../../../base/domain/text/exact-json.ts";
import type { CountRequestBody } from "./messages-request.ts";

type Message = CountRequestBody["messages"][number];
type Block = Exclude<Message["content"], string>[number];
type Texts = NonNullable<CountRequestBody["system"]>;

type Place = readonly string[];

/** Where a message was sent, from the body on. */
export interface MessageOrigin {
  readonly place: Place;
  /** Of the texts of its content. */
  readonly textPlaces: readonly Place[];
  /** Of its tool calls. */
  readonly callPlaces: readonly Place[];
}

export interface InputMessage {
  readonly message: Readonly<Record<string, unknown>>;
  readonly origin: MessageOrigin;
}

interface Text {
  readonly text: string;
  readonly place: Place;
}

/** What follows each other without a result of a tool, or somebody else, between; or such a result. */
interface Turn {
  readonly role: Message["role"] | "tool";
  readonly place: Place;
  readonly texts: Text[];
  readonly thoughts: string[];
  readonly calls: { readonly call: object; readonly place: Place }[];
  /** Of a result: the id of its call. */
  readonly resultOf?: string | null | undefined;
}

/** With the system's message first. */
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

/** Whether the answer goes on with the last message, which is the assistant's and calls no tool. */
export function continuesLast(messages: readonly InputMessage[]): boolean {
  const last = messages.at(-1);
  return last?.message["role"] === "assistant" && last.origin.callPlaces.length === 0;
}

/**
 * Claude Code says in front of its instructions which program and request it is, in other words each time. That is for
 * Anthropic's bills, and no prompt that begins with it begins as another one does.
 */
function isAttribution(text: string): boolean {
  return text.startsWith("x-anthropic-billing-header:");
}

function blocksOf(content: Message["content"]): readonly Block[] {
  return typeof content === "string" ? [{ type: "text", text: content }] : content;
}

function addBlock(turn: Turn, block: Block, place: Place): void {
  if (block.type === "text") turn.texts.push({ text: block.text ?? "", place });
  // One that is redacted says nothing to a model that did not think it.
  if (block.type === "thinking") turn.thoughts.push(block.thinking ?? "");
  if (block.type !== "tool_use") return;
  // It came out of JSON.
  const text = exactJsonText((block.input ?? {}) as ExactJson);
  const call = { id: block.id, type: "function", function: { name: block.name, arguments: text } };
  turn.calls.push({ call, place });
}

function turnMessage({ role, place, texts, thoughts, calls, resultOf }: Turn): InputMessage {
  const parts = texts.map(({ text }) => ({ type: "text", text }));
  // A single text stands as it is, so that templates which know no parts show the same.
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
      textPlaces: texts.map((text) => text.place),
      callPlaces: calls.map((call) => call.place),
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

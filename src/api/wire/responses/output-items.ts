// Builds the output items of an answer while it arrives: thoughts, a message, tool calls. At most one item is open at a
// time. Each change of an item is reported as an event; a stream sends the events, and a complete answer discards them.
import { assert } from "../../../base/domain/assert.ts";
import type { ChatDelta, ChatFinish, ChatLogprob, ToolCallDelta } from "../../../base/domain/chat.ts";
import { tokenEntry } from "../chat/chat-logprobs.ts";
import { isLong, JsonList, JsonText, type TakeBytes } from "../json-text.ts";

/** An event that has no sequence number yet. */
export type ItemEvent = { readonly type: string } & Readonly<Record<string, unknown>>;

type Status = "in_progress" | "completed" | "incomplete";

interface OpenItem {
  readonly kind: "reasoning" | "message" | keyof typeof callTexts;
  readonly id: string;
  /** Index in the choice, id and name of a tool call; null for other items. */
  readonly call: { readonly index: number; readonly id: string; readonly name: string } | null;
  text: string;
  readonly logprobs: JsonList;
}

/**
 * For each kind of call: the member of the item that contains the call's text, and the prefix of the names of the
 * call's events.
 */
const callTexts = {
  function_call: { member: "arguments", event: "response.function_call_arguments" },
  custom_tool_call: { member: "input", event: "response.custom_tool_call_input" },
} as const;

/**
 * For reasoning items and messages: the type of the part that contains their text, and the prefix of the names of the
 * part's events.
 */
const textParts = {
  reasoning: { part: "reasoning_text", event: "response.reasoning_text" },
  message: { part: "output_text", event: "response.output_text" },
} as const;

export class OutputItems {
  readonly #requestId: string;
  readonly #hasLogprobs: boolean;
  readonly #take: TakeBytes;
  /** Log-probabilities of tokens whose text has not been emitted yet, because it is held back or empty. */
  #waiting: JsonText[] = [];
  /** Items that are complete, in order. */
  readonly #done: object[] = [];
  #open: OpenItem | null = null;

  /**
   * @param hasLogprobs true to include the log-probabilities of a message's tokens
   * @param take called with the number of bytes of memory that log-probabilities add; throws if the budget is exhausted
   */
  constructor(
    requestId: string,
    { hasLogprobs, take }: { readonly hasLogprobs: boolean; readonly take: TakeBytes },
  ) {
    this.#requestId = requestId;
    this.#hasLogprobs = hasLogprobs;
    this.#take = take;
  }

  /** Items that are complete, in order. */
  get items(): readonly object[] {
    return this.#done;
  }

  /** Appends a delta to the items, and yields the resulting events. */
  *add({ reasoning, text, toolCalls, logprobs }: ChatDelta): Generator<ItemEvent> {
    if (this.#hasLogprobs) this.#waiting.push(...logprobs.map(spelled));
    if (reasoning !== "") yield* this.#addText("reasoning", reasoning);
    if (text !== "") yield* this.#addText("message", text);
    for (const call of toolCalls) yield* this.#addCall(call);
    // Drops the log-probabilities of tokens in thoughts and calls, since these tokens are not part of a message's text.
    if (text === "" && (reasoning !== "" || toolCalls.length > 0)) this.#waiting = [];
  }

  /** Closes the open item, and yields the resulting events. An empty answer gets one item: a message without text. */
  *finish({ reason }: ChatFinish): Generator<ItemEvent> {
    if (this.#open === null && this.#done.length === 0) yield* this.#opened(this.#newItem("message", null));
    // The last tokens may have no text. Adds their log-probabilities to the message here.
    if (this.#open?.kind === "message" && this.#waiting.length > 0) yield* this.#addText("message", "");
    yield* this.#closed(reason === "length" ? "incomplete" : "completed");
  }

  *#addText(kind: "reasoning" | "message", delta: string): Generator<ItemEvent> {
    if (this.#open?.kind !== kind) yield* this.#opened(this.#newItem(kind, null));
    const item = this.#current();
    item.text += delta;
    const event = {
      type: `${textParts[kind].event}.delta`,
      ...this.#placeOf(item),
      content_index: 0,
      delta,
    };
    if (kind === "reasoning") {
      yield event;
      return;
    }
    const logprobs = this.#waiting;
    this.#waiting = [];
    for (const entry of logprobs) item.logprobs.add(entry);
    yield { ...event, logprobs, ...(logprobs.length > 0 ? { [isLong]: true } : {}) };
  }

  *#addCall({ index, id, name, argumentsText, isText }: ToolCallDelta): Generator<ItemEvent> {
    if (this.#open?.call?.index !== index) {
      assert(id !== undefined && name !== undefined, "a call's first delta names it");
      const kind = isText === true ? "custom_tool_call" : "function_call";
      yield* this.#opened(this.#newItem(kind, { index, id, name }));
    }
    if (argumentsText === "") return;
    const item = this.#current();
    item.text += argumentsText;
    if (!isCall(item)) return;
    yield {
      type: `${callTexts[item.kind].event}.delta`,
      ...this.#placeOf(item),
      delta: argumentsText,
    };
  }

  #newItem(kind: OpenItem["kind"], call: OpenItem["call"]): OpenItem {
    const prefix = { reasoning: "rs", message: "msg", function_call: "fc", custom_tool_call: "ctc" }[kind];
    const number = this.#done.length + (this.#open === null ? 0 : 1);
    return {
      kind,
      id: `${prefix}_${this.#requestId}_${number}`,
      call,
      text: "",
      logprobs: new JsonList(this.#take),
    };
  }

  #current(): OpenItem {
    assert(this.#open !== null, "an item is open");
    return this.#open;
  }

  *#opened(item: OpenItem): Generator<ItemEvent> {
    yield* this.#closed("completed");
    this.#open = item;
    yield {
      type: "response.output_item.added",
      output_index: this.#done.length,
      item: itemBody(item, "in_progress"),
    };
    if (isCall(item)) return;
    yield {
      type: "response.content_part.added",
      ...this.#placeOf(item),
      content_index: 0,
      part: partBody(item, []),
    };
  }

  *#closed(status: Status): Generator<ItemEvent> {
    const item = this.#open;
    if (item === null) return;
    const place = this.#placeOf(item);
    if (isCall(item)) {
      const { member, event } = callTexts[item.kind];
      const name = item.kind === "function_call" ? { name: item.call?.name } : {};
      yield { type: `${event}.done`, ...place, ...name, [member]: item.text };
    } else if (isSaid(item)) {
      const logprobs = item.kind === "message" ? { logprobs: item.logprobs } : {};
      const text = { ...place, content_index: 0, text: item.text, ...logprobs };
      yield { type: `${textParts[item.kind].event}.done`, ...text, [isLong]: true };
      const part = partBody(item, item.logprobs);
      yield { type: "response.content_part.done", ...place, content_index: 0, part, [isLong]: true };
    }
    const body = itemBody(item, status);
    const ended = { output_index: place.output_index, item: body, [isLong]: true };
    yield { type: "response.output_item.done", ...ended };
    this.#done.push(body);
    this.#open = null;
  }

  #placeOf({ id }: OpenItem): { readonly item_id: string; readonly output_index: number } {
    return { item_id: id, output_index: this.#done.length };
  }
}

function isCall(item: OpenItem): item is OpenItem & { readonly kind: keyof typeof callTexts } {
  return item.kind in callTexts;
}

function isSaid(item: OpenItem): item is OpenItem & { readonly kind: keyof typeof textParts } {
  return item.kind in textParts;
}

/**
 * Serializes a log-probability when it arrives. Otherwise all waiting log-probabilities would be serialized at once.
 */
function spelled(logprob: ChatLogprob): JsonText {
  const json = JSON.stringify(tokenEntry(logprob, false));
  return new JsonText(() => json);
}

/** Returns an item in its current state. An open item is shown without its content parts. */
function itemBody(item: OpenItem, status: Status): object {
  const { kind, id, call, text } = item;
  if (isCall(item)) {
    const { member } = callTexts[item.kind];
    return { type: kind, id, call_id: call?.id, name: call?.name, [member]: text, status };
  }
  const content = status === "in_progress" ? [] : [partBody(item, item.logprobs)];
  return kind === "reasoning"
    ? { type: kind, id, summary: [], content, status }
    : { type: kind, id, role: "assistant", content, status };
}

function partBody({ kind, text }: OpenItem, logprobs: JsonList | readonly []): object {
  return kind === "reasoning"
    ? { type: textParts.reasoning.part, text }
    : { type: textParts.message.part, text, annotations: [], logprobs };
}

// Collects the text, thought and tool calls of an answer in pieces that are ready to send. Works for every call format.
import type { ToolCallDelta } from "../../../base/domain/chat.ts";

/** Content that is sent at one time. */
export interface ReplyPiece {
  readonly text: string;
  readonly reasoning: string;
  readonly toolCalls: readonly ToolCallDelta[];
}

export const emptyPiece: ReplyPiece = { text: "", reasoning: "", toolCalls: [] };

export class ReplyPieces {
  readonly #newCallId: (name: string, index: number) => string;
  #text = "";
  #reasoning = "";
  #calls: ToolCallDelta[] = [];
  #callCount = 0;

  constructor(newCallId: (name: string, index: number) => string) {
    this.#newCallId = newCallId;
  }

  get callCount(): number {
    return this.#callCount;
  }

  readonly addText = (text: string): void => void (this.#text += text);

  readonly addReasoning = (text: string): void => void (this.#reasoning += text);

  /** Begins a tool call. Arguments that are added later belong to the call that began last. */
  beginCall(name: string): void {
    const index = this.#callCount;
    this.#calls.push({ index, id: this.#newCallId(name, index), name, argumentsText: "" });
    this.#callCount += 1;
  }

  readonly addArguments = (text: string): void => {
    const index = this.#callCount - 1;
    const last = this.#calls.at(-1);
    // The beginning of a call is sent in a separate delta, before any arguments.
    if (last?.index === index && last.name === undefined)
      this.#calls[this.#calls.length - 1] = { ...last, argumentsText: last.argumentsText + text };
    else if (text !== "") this.#calls.push({ index, argumentsText: text });
  };

  /**
   * Returns the content collected since the last `take`, with at most one delta per tool call. Clients recognise a new
   * call by a delta without arguments. So arguments that arrived together with the beginning of their call wait for the
   * next piece.
   */
  take(): ReplyPiece {
    const count = this.#calls.findIndex(
      ({ index }, at) => at > 0 && this.#calls.slice(0, at).some((call) => call.index === index),
    );
    return this.#piece(this.#calls.splice(0, count < 0 ? this.#calls.length : count));
  }

  /** Returns all remaining content. */
  takeAll(): ReplyPiece {
    return this.#piece(joinedCalls(this.#calls.splice(0)));
  }

  #piece(toolCalls: readonly ToolCallDelta[]): ReplyPiece {
    const piece = { text: this.#text, reasoning: this.#reasoning, toolCalls };
    this.#text = "";
    this.#reasoning = "";
    return piece;
  }
}

/** Joins two consecutive pieces into one. */
export function joinedPieces(one: ReplyPiece, other: ReplyPiece): ReplyPiece {
  return {
    text: one.text + other.text,
    reasoning: one.reasoning + other.reasoning,
    toolCalls: joinedCalls([...one.toolCalls, ...other.toolCalls]),
  };
}

/** Joins the deltas of each call into one, because some clients mistake a second delta in a chunk for another call. */
function joinedCalls(deltas: readonly ToolCallDelta[]): readonly ToolCallDelta[] {
  if (deltas.length < 2) return deltas;
  const calls = new Map<number, ToolCallDelta>();
  for (const call of deltas) {
    const before = calls.get(call.index);
    calls.set(call.index, {
      ...before,
      ...call,
      argumentsText: (before?.argumentsText ?? "") + call.argumentsText,
    });
  }
  return [...calls.values()];
}

// Builds the content blocks of an answer while it arrives: thoughts, text and tool calls. At most one block is open at
// a time. Each change of a block is reported as an event; a stream sends the events, and a complete answer discards
// them.
import { createHash } from "node:crypto";
import { assert } from "../../../base/domain/assert.ts";
import type { ChatDelta, ToolCallDelta } from "../../../base/domain/chat.ts";
import { argumentsOf } from "../tool-arguments.ts";

/** An event of a stream. Its name is the same as its type. */
export type MessageEvent = { readonly type: string } & Readonly<Record<string, unknown>>;

interface OpenBlock {
  readonly kind: "thinking" | "text" | "tool_use";
  /** Index in the choice, id and name of a tool call; null for other blocks. */
  readonly call: { readonly index: number; readonly id: string; readonly name: string } | null;
  text: string;
}

/** For each kind of block: the type of its deltas, and the member of a delta that contains the added text. */
const deltas = {
  thinking: { type: "thinking_delta", member: "thinking" },
  text: { type: "text_delta", member: "text" },
  tool_use: { type: "input_json_delta", member: "partial_json" },
} as const;

export class ContentBlocks {
  /** Blocks that are complete. */
  readonly #done: object[] = [];
  #open: OpenBlock | null = null;
  #hasCalls = false;

  /** Blocks that are complete, in order. */
  get blocks(): readonly object[] {
    return this.#done;
  }

  /** True if the answer calls a tool. */
  get hasCalls(): boolean {
    return this.#hasCalls;
  }

  /** Appends a delta to the blocks, and yields the resulting events. */
  *add({ reasoning, text, toolCalls }: ChatDelta): Generator<MessageEvent> {
    if (reasoning !== "") yield* this.#addText("thinking", reasoning);
    if (text !== "") yield* this.#addText("text", text);
    for (const call of toolCalls) yield* this.#addCall(call);
  }

  /** Closes the open block, if there is one, and yields the resulting events. */
  *finish(): Generator<MessageEvent> {
    const block = this.#open;
    if (block === null) return;
    const index = this.#done.length;
    if (block.kind === "thinking")
      yield {
        type: "content_block_delta",
        index,
        delta: { type: "signature_delta", signature: signatureOf(block) },
      };
    yield { type: "content_block_stop", index };
    this.#done.push(blockBody(block));
    this.#open = null;
  }

  *#addText(kind: "thinking" | "text", delta: string): Generator<MessageEvent> {
    if (this.#open?.kind !== kind) yield* this.#begin({ kind, call: null, text: "" });
    yield this.#grown(delta);
  }

  *#addCall({ index, id, name, argumentsText }: ToolCallDelta): Generator<MessageEvent> {
    if (this.#open?.call?.index !== index) {
      assert(id !== undefined && name !== undefined, "a call's first delta names it");
      this.#hasCalls = true;
      yield* this.#begin({ kind: "tool_use", call: { index, id, name }, text: "" });
    }
    if (argumentsText !== "") yield this.#grown(argumentsText);
  }

  *#begin(block: OpenBlock): Generator<MessageEvent> {
    yield* this.finish();
    this.#open = block;
    yield { type: "content_block_start", index: this.#done.length, content_block: startBody(block) };
  }

  #grown(delta: string): MessageEvent {
    const block = this.#open;
    assert(block !== null, "a block is open");
    block.text += delta;
    const { type, member } = deltas[block.kind];
    return { type: "content_block_delta", index: this.#done.length, delta: { type, [member]: delta } };
  }
}

/** Returns the body of a block at the time it opens. */
function startBody({ kind, call }: OpenBlock): object {
  if (kind === "thinking") return { type: kind, thinking: "", signature: "" };
  if (kind === "text") return { type: kind, text: "", citations: null };
  return { type: kind, id: call?.id, name: call?.name, input: {}, caller };
}

/** Returns the body of a block at the time it closes. */
function blockBody(block: OpenBlock): object {
  const { kind, text } = block;
  const ended = {
    thinking: () => ({ thinking: text, signature: signatureOf(block) }),
    text: () => ({ text }),
    tool_use: () => ({ input: argumentsOf(text) }),
  }[kind];
  return { ...startBody(block), ...ended() };
}

/** Caller of a tool, as answers show it. `direct` is the model itself, as opposed to a program that the model wrote. */
const caller = { type: "direct" };

/**
 * Returns a hash that identifies the thoughts. It proves nothing about their origin: the server does not check it when
 * a client sends it back.
 */
function signatureOf({ text }: OpenBlock): string {
  return createHash("sha256").update(text).digest("base64");
}

// Content blocks of an answer as they arrive: thoughts, text and tool calls. One block is open at a time; each opens,
// grows and closes with events, which a stream sends and a whole answer discards.
import { createHash } from "node:crypto";
import { assert } from "../../../base/domain/assert.ts";
import type { ChatDelta, ToolCallDelta } from "../../../base/domain/chat.ts";
import { isObject } from "../../../base/validation/findings.ts";
import { JsonText } from "../json-text.ts";

/** An event of a stream, named by its type. */
export type MessageEvent = { readonly type: string } & Readonly<Record<string, unknown>>;

interface OpenBlock {
  readonly kind: "thinking" | "text" | "tool_use";
  /** For a call: its index in the choice, its id and its name. */
  readonly call: { readonly index: number; readonly id: string; readonly name: string } | null;
  text: string;
}

/** Delta type of each kind of block, and the member that it extends. */
const deltas = {
  thinking: { type: "thinking_delta", member: "thinking" },
  text: { type: "text_delta", member: "text" },
  tool_use: { type: "input_json_delta", member: "partial_json" },
} as const;

export class ContentBlocks {
  /** Closed blocks. */
  readonly #done: object[] = [];
  #open: OpenBlock | null = null;
  #hasCalls = false;

  /** Closed blocks. */
  get blocks(): readonly object[] {
    return this.#done;
  }

  /** True if the answer calls a tool. */
  get hasCalls(): boolean {
    return this.#hasCalls;
  }

  /** Appends the deltas of one step. */
  *add({ reasoning, text, toolCalls }: ChatDelta): Generator<MessageEvent> {
    if (reasoning !== "") yield* this.#addText("thinking", reasoning);
    if (text !== "") yield* this.#addText("text", text);
    for (const call of toolCalls) yield* this.#addCall(call);
  }

  /** Closes the open block; an answer may have no blocks. */
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

/** Returns the block as it is opened. */
function startBody({ kind, call }: OpenBlock): object {
  if (kind === "thinking") return { type: kind, thinking: "", signature: "" };
  if (kind === "text") return { type: kind, text: "", citations: null };
  return { type: kind, id: call?.id, name: call?.name, input: {}, caller };
}

/** Returns the block as it is closed. */
function blockBody(block: OpenBlock): object {
  const { kind, text } = block;
  const ended = {
    thinking: () => ({ thinking: text, signature: signatureOf(block) }),
    text: () => ({ text }),
    tool_use: () => ({ input: inputOf(text) }),
  }[kind];
  return { ...startBody(block), ...ended() };
}

/** The model itself calls the tool, not a program that it wrote. */
const caller = { type: "direct" };

/** Distinguishes thoughts; it need not be trustworthy when it is sent back. */
function signatureOf({ text }: OpenBlock): string {
  return createHash("sha256").update(text).digest("base64");
}

/**
 * Parses arguments with exact numbers. Text that is not an object, as from a truncated call, is wrapped in one, as
 * Anthropic's documentation asks clients to send it back.
 */
function inputOf(text: string): object {
  const json = text === "" ? "{}" : text;
  return isJsonObject(json) ? new JsonText(() => json) : { INVALID_JSON: text };
}

function isJsonObject(text: string): boolean {
  try {
    return isObject(JSON.parse(text));
  } catch {
    return false;
  }
}

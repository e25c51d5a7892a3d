// Writes the answer to a request of the Messages API: the events of a stream, or the message that results from these
// events.
import { assert } from "../../../base/domain/assert.ts";
import type { ChatDelta, ChatFinish, ChatHeader, ChatRequest, ChatUsage } from "../../../base/domain/chat.ts";
import { ContentBlocks, type MessageEvent } from "./content-blocks.ts";

/** Event that keeps an idle connection open. */
export const ping: MessageEvent = { type: "ping" };

/** Returns a writer for the events of one stream. Its `add` takes the deltas of one step. */
export function messageEvents(request: ChatRequest, header: ChatHeader) {
  const message = new MessageSoFar(request, header);
  return {
    begin: (usage: ChatUsage): readonly object[] => [
      { type: "message_start", message: message.body({ usage: message.usage(usage) }) },
      ping,
    ],
    add: (deltas: readonly ChatDelta[]): readonly object[] =>
      deltas.flatMap((delta) => [...message.add(delta)]),
    end: (usage: ChatUsage): readonly object[] => {
      const { stop_reason, stop_sequence } = message.stop(usage);
      return [
        {
          type: "message_delta",
          delta: { stop_reason, stop_sequence, stop_details: null, container: null },
          usage: message.usage(usage),
        },
        { type: "message_stop" },
      ];
    },
  };
}

/** Returns a collector for one complete message. It equals the message that {@link messageEvents} streams. */
export function wholeMessage(request: ChatRequest, header: ChatHeader) {
  const message = new MessageSoFar(request, header);
  return {
    // Iterating over the events updates the message. The events themselves are discarded.
    add: (deltas: readonly ChatDelta[]): void => deltas.forEach((delta) => void [...message.add(delta)]),
    end: (usage: ChatUsage): object => message.body({ ...message.stop(usage), usage: message.usage(usage) }),
  };
}

class MessageSoFar {
  readonly #request: ChatRequest;
  readonly #header: ChatHeader;
  readonly #blocks = new ContentBlocks();
  #finish: ChatFinish | null = null;
  /** Number of tokens from the beginning of the answer to the end of its last thought. */
  #thinkingTokens = 0;

  constructor(request: ChatRequest, header: ChatHeader) {
    this.#request = request;
    this.#header = header;
  }

  *add(delta: ChatDelta): Generator<MessageEvent> {
    if (delta.reasoning !== "") this.#thinkingTokens = delta.choiceTokens;
    yield* this.#blocks.add(delta);
    if (delta.finish === null) return;
    this.#finish = delta.finish;
    yield* this.#blocks.finish();
  }

  body(ended: { readonly usage: object; readonly stop_reason?: string }): object {
    return {
      id: `msg_${this.#request.identity.requestId}`,
      type: "message",
      role: "assistant",
      model: this.#header.model,
      content: [...this.#blocks.blocks],
      stop_reason: null,
      stop_sequence: null,
      stop_details: null,
      container: null,
      diagnostics: null,
      ...ended,
    };
  }

  /** Returns why the answer ended, and the stop sequence if one ended it. */
  stop({ completionTokens }: ChatUsage): {
    readonly stop_reason: string;
    readonly stop_sequence: string | null;
  } {
    const finish = this.#finish;
    assert(finish !== null, "a completion ends with its finish");
    const { reason, matchedStop } = finish;
    const { maxTokens } = this.#request.stopping;
    if (reason === "length") {
      const isAsMany = maxTokens !== null && completionTokens >= maxTokens;
      return { stop_reason: isAsMany ? "max_tokens" : "model_context_window_exceeded", stop_sequence: null };
    }
    if (this.#blocks.hasCalls) return { stop_reason: "tool_use", stop_sequence: null };
    return { stop_reason: matchedStop === null ? "end_turn" : "stop_sequence", stop_sequence: matchedStop };
  }

  /** Returns the usage. Input tokens do not include tokens from the prompt cache, which have their own field. */
  usage({ promptTokens, cachedTokens, completionTokens }: ChatUsage): object {
    return {
      input_tokens: promptTokens - cachedTokens,
      // Always 0, because writing tokens to the prompt cache costs nothing here.
      cache_creation_input_tokens: 0,
      cache_read_input_tokens: cachedTokens,
      cache_creation: null,
      output_tokens: completionTokens,
      output_tokens_details: { thinking_tokens: this.#thinkingTokens },
      server_tool_use: null,
      service_tier: "standard",
      inference_geo: null,
      speed: null,
    };
  }
}

// Writes the numbered events of a streamed response: its beginning, its items as they arrive, and its end. The last
// event contains the complete answer, which equals an answer that is not streamed.
import { assert } from "../../../base/domain/assert.ts";
import type { ChatDelta, ChatFinish, ChatHeader, ChatRequest, ChatUsage } from "../../../base/domain/chat.ts";
import { isLong, type TakeBytes } from "../json-text.ts";
import { OutputItems, type ItemEvent } from "./output-items.ts";
import type { RepeatedFields } from "./read-responses-request.ts";

/** The request, and the fields of it that the answer repeats. */
export interface ResponseContext {
  readonly request: ChatRequest;
  readonly repeated: RepeatedFields;
}

/** Error body that all routes use. */
export interface ResponseFailure {
  readonly error: { readonly message: string; readonly param: string | null; readonly code: string };
}

/**
 * Returns a writer for the events of one stream. Its `add` takes the deltas of one step.
 *
 * @param take called with the number of bytes of memory that the answer adds; if it throws, `add` throws the same error
 */
export function responseEvents(asked: ResponseContext, header: ChatHeader, take: TakeBytes) {
  const response = new ResponseSoFar(asked, header, take);
  let count = 0;
  const numbered = (event: ItemEvent): object => ({ ...event, sequence_number: count++ });
  return {
    begin: (): readonly object[] =>
      ["response.created", "response.in_progress"].map((type) => numbered(response.event(type))),
    add: (deltas: readonly ChatDelta[]): readonly object[] =>
      deltas.flatMap((delta) => [...response.add(delta)]).map(numbered),
    end: (usage: ChatUsage): readonly object[] => [numbered(response.end(usage))],
    fail: (body: ResponseFailure): readonly object[] => [
      numbered(response.fail(body)),
      responseError(body, count),
    ],
  };
}

/**
 * Returns the last event of a failed stream. It combines the members of OpenAI's error events with those of the usual
 * error body.
 */
export function responseError(body: ResponseFailure, sequenceNumber: number): object {
  const { message, param, code } = body.error;
  return { type: "error", code, message, param, ...body, sequence_number: sequenceNumber };
}

/** Returns a collector for one complete response. It equals the response that {@link responseEvents} streams. */
export function wholeResponse(asked: ResponseContext, header: ChatHeader, take: TakeBytes) {
  const response = new ResponseSoFar(asked, header, take);
  return {
    // Iterating over the events updates the response. The events themselves are discarded.
    add: (deltas: readonly ChatDelta[]): void => deltas.forEach((delta) => void [...response.add(delta)]),
    end: (usage: ChatUsage): object => response.end(usage).response,
  };
}

/** An event that contains the response in its current state. */
type ResponseStateEvent = ItemEvent & { readonly response: object };

class ResponseSoFar {
  readonly #asked: ResponseContext;
  readonly #header: ChatHeader;
  readonly #items: OutputItems;
  #finish: ChatFinish | null = null;
  /** Number of tokens from the beginning of the answer to the end of its last thought. */
  #reasoningTokens = 0;

  constructor(asked: ResponseContext, header: ChatHeader, take: TakeBytes) {
    this.#asked = asked;
    this.#header = header;
    const { requestId } = asked.request.identity;
    this.#items = new OutputItems(requestId, { hasLogprobs: header.logprobs !== "off", take });
  }

  *add(delta: ChatDelta): Generator<ItemEvent> {
    if (delta.reasoning !== "") this.#reasoningTokens = delta.choiceTokens;
    this.#finish = delta.finish;
    yield* this.#items.add(delta);
    if (delta.finish !== null) yield* this.#items.finish(delta.finish);
  }

  event(type: string): ResponseStateEvent {
    return { type, response: this.#body("in_progress") };
  }

  end(usage: ChatUsage): ResponseStateEvent {
    const finish = this.#finish;
    assert(finish !== null, "a completion ends with its finish");
    const isCut = finish.reason === "length";
    const status = isCut ? "incomplete" : "completed";
    const response = this.#body(status, {
      incomplete_details: isCut ? { reason: "max_output_tokens" } : null,
      usage: usageBody(usage, this.#reasoningTokens),
    });
    return { type: `response.${status}`, response, [isLong]: true };
  }

  fail({ error }: ResponseFailure): ResponseStateEvent {
    const { message } = error;
    return {
      type: "response.failed",
      response: this.#body("failed", { error: { code: "server_error", message } }),
    };
  }

  #body(status: string, ended: object = {}): object {
    const { model, createdAt } = this.#header;
    return {
      id: `resp_${this.#asked.request.identity.requestId}`,
      object: "response",
      created_at: Math.floor(createdAt.getTime() / 1000),
      status,
      error: null,
      incomplete_details: null,
      model,
      output: [...this.#items.items],
      ...this.#asked.repeated,
      background: false,
      previous_response_id: null,
      service_tier: "default",
      store: false,
      usage: null,
      ...ended,
    };
  }
}

function usageBody(usage: ChatUsage, reasoningTokens: number): object {
  return {
    input_tokens: usage.promptTokens,
    input_tokens_details: { cached_tokens: usage.cachedTokens },
    output_tokens: usage.completionTokens,
    output_tokens_details: { reasoning_tokens: reasoningTokens },
    total_tokens: usage.promptTokens + usage.completionTokens,
  };
}

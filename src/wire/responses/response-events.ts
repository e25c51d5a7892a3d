// The events of a streamed response, in order, each with its number: the response as it begins, its items as they come, the
// response as it ended. The last one holds the whole answer, which is what a request without a stream gets.
import { assert } from "../../domain/assert.ts";
import type { ChatEvent, ChatFinish, ChatHeader, ChatRequest, ChatUsage } from "../../domain/chat.ts";
import { isLong, type TakeBytes } from "../json-text.ts";
import { OutputItems, type ItemEvent } from "./output-items.ts";
import type { RepeatedFields } from "./read-responses-request.ts";

export type ResponseEvent = ItemEvent & { readonly sequence_number: number };

/** What is answered, and what the answer repeats of the request. */
export interface AskedResponse {
  readonly request: ChatRequest;
  readonly repeated: RepeatedFields;
}

/** The body that every error has. */
export interface ResponseFailure {
  readonly error: { readonly message: string; readonly param: string | null; readonly code: string };
}

/**
 * Turns the events of a completion into those of a response.
 *
 * @param opening the header of the completion
 * @param take called with what is in memory of the answer
 * @param failureOf what to tell the client of what is thrown on the way: this is then the last event
 */
export async function* responseEvents(
  asked: AskedResponse,
  opening: Promise<ChatHeader>,
  events: AsyncIterable<ChatEvent>,
  { failureOf, take }: { readonly failureOf: (error: unknown) => ResponseFailure; readonly take: TakeBytes },
): AsyncGenerator<ResponseEvent> {
  let count = 0;
  const numbered = (event: ItemEvent): ResponseEvent => ({ ...event, sequence_number: count++ });
  let begun: ResponseSoFar | null = null;
  try {
    begun = new ResponseSoFar(asked, await opening, take);
    yield numbered(begun.event("response.created"));
    yield numbered(begun.event("response.in_progress"));
    for await (const event of events) for (const step of begun.add(event)) yield numbered(step);
    yield numbered(begun.end());
  } catch (error) {
    const body = failureOf(error);
    if (begun !== null) yield numbered(begun.fail(body));
    // The members of OpenAI's event, and the body that errors have everywhere.
    const { message, param, code } = body.error;
    yield numbered({ type: "error", code, message, param, ...body });
  }
}

/**
 * The whole answer.
 *
 * @param take called with what is in memory of it
 * @throws whatever the events or `take` throw
 */
export async function wholeResponse(
  asked: AskedResponse,
  {
    header,
    events,
    take,
  }: { readonly header: ChatHeader; readonly take: TakeBytes } & {
    readonly events: AsyncIterable<ChatEvent>;
  },
): Promise<object> {
  const response = new ResponseSoFar(asked, header, take);
  // What the steps are is for streams; taking them is what adds them up.
  for await (const event of events) for (const _ of response.add(event));
  return response.end().response;
}

/** An event with the response as it stands. */
type ResponseStateEvent = ItemEvent & { readonly response: object };

class ResponseSoFar {
  readonly #asked: AskedResponse;
  readonly #header: ChatHeader;
  readonly #items: OutputItems;
  #usage: ChatUsage | null = null;
  #finish: ChatFinish | null = null;
  /** Tokens up to the last one that was thought. */
  #reasoningTokens = 0;

  constructor(asked: AskedResponse, header: ChatHeader, take: TakeBytes) {
    this.#asked = asked;
    this.#header = header;
    const { requestId } = asked.request.identity;
    this.#items = new OutputItems(requestId, { hasLogprobs: header.logprobs !== "off", take });
  }

  *add(event: ChatEvent): Generator<ItemEvent> {
    if (event.kind === "usage") this.#usage = event.usage;
    if (event.kind !== "delta") return;
    if (event.reasoning !== "") this.#reasoningTokens = event.choiceTokens;
    this.#finish = event.finish;
    yield* this.#items.add(event);
    if (event.finish !== null) yield* this.#items.finish(event.finish);
  }

  event(type: string): ResponseStateEvent {
    return { type, response: this.#body("in_progress") };
  }

  end(): ResponseStateEvent {
    const [usage, finish] = [this.#usage, this.#finish];
    assert(usage !== null && finish !== null, "a completion ends with its finish and its usage");
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

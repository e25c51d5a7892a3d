// Calls that generate text: chats, responses, messages and text completions, each as a whole answer or as a stream.
// They are retried if no server answers, because a repeated request only generates again.
import type { RequestOptions } from "../connection.ts";
import { CallGroup, inputOf } from "./call-group.ts";
import type { AnswerOf, BodyOf, Calls, EventOf, RouteWith } from "./calls.ts";

type GenerationRoute = RouteWith<"answer"> & RouteWith<"events"> & RouteWith<"body">;

const isRepeatable = true;

/** The call groups `hone.completions` and `hone.responses`. */
export class GenerationCalls<R extends GenerationRoute> extends CallGroup {
  readonly #route: R;

  constructor(calls: Calls, route: R) {
    super(calls);
    this.#route = route;
  }

  /** Returns the whole answer. */
  create(body: Omit<BodyOf<R>, "stream">, options?: RequestOptions): Promise<AnswerOf<R>> {
    return this.calls.call(this.#route, inputOf<R>({ body }), { isRepeatable, ...options });
  }

  /**
   * Streams the answer; leaving the loop cancels generation. For responses and messages, an error may arrive as an
   * event of type `error`.
   */
  stream(body: Omit<BodyOf<R>, "stream">, options?: RequestOptions): AsyncGenerator<EventOf<R>> {
    const input = inputOf<R>({ body: { ...body, stream: true } });
    return this.calls.events(this.#route, input, { isRepeatable, ...options });
  }
}

/** The call group `hone.chat`. */
export type ChatCalls = GenerationCalls<"POST /v1/chat/completions">;

/** The call group `hone.messages`, for Anthropic's Messages API. */
export class MessageCalls extends GenerationCalls<"POST /v1/messages"> {
  /** Returns the number of tokens in the prompt. */
  readonly countTokens = this.send("POST /v1/messages/count_tokens", { isRepeatable });
}

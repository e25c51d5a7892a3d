// Calls that generate: chats, responses, messages and text completions, whole or streamed. They are retried if no
// server answers: the server stores nothing of them.
import type { RequestOptions } from "../connection.ts";
import { CallGroup, inputOf } from "./call-group.ts";
import type { AnswerOf, BodyOf, Calls, EventOf, RouteWith } from "./calls.ts";

type GenerationRoute = RouteWith<"answer"> & RouteWith<"events"> & RouteWith<"body">;

const isRepeatable = true;

/** `hone.completions`, `hone.responses` */
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

  /** Streams the answer; leaving the loop cancels it. Responses and messages report an error as an event `error`. */
  stream(body: Omit<BodyOf<R>, "stream">, options?: RequestOptions): AsyncGenerator<EventOf<R>> {
    const input = inputOf<R>({ body: { ...body, stream: true } });
    return this.calls.events(this.#route, input, { isRepeatable, ...options });
  }
}

/** `hone.chat` */
export type ChatCalls = GenerationCalls<"POST /v1/chat/completions">;

/** `hone.messages`: Anthropic's Messages API. */
export class MessageCalls extends GenerationCalls<"POST /v1/messages"> {
  /** Counts the tokens of the prompt. */
  readonly countTokens = this.send("POST /v1/messages/count_tokens", { isRepeatable });
}

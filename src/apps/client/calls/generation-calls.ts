// Answers of models: chats, responses and texts that go on, whole or as they are made. They are sent again where nobody
// answers: nothing of them is kept.
import type {
  ChatCompletion,
  ChatCompletionChunk,
  ChatCompletionRequest,
  Completion,
  CompletionChunk,
  CompletionRequest,
  ResponseEvent,
  ResponseObject,
  ResponseRequest,
} from "../api.ts";
import type { RequestOptions } from "../connection.ts";
import { CallGroup } from "./call-group.ts";

const isRepeatable = true;

type Unstreamed<Body> = Omit<Body, "stream">;

/** `hone.chat` */
export class ChatCalls extends CallGroup {
  /** The answer, whole. */
  create(body: Unstreamed<ChatCompletionRequest>, options?: RequestOptions): Promise<ChatCompletion> {
    return this.calls.value("POST /v1/chat/completions", { body }, { isRepeatable, ...options });
  }

  /** The answer as it is made; leaving the loop ends it. */
  stream(
    body: Unstreamed<ChatCompletionRequest>,
    options?: RequestOptions,
  ): AsyncGenerator<ChatCompletionChunk> {
    const streamed = { body: { ...body, stream: true } };
    return this.calls.events("POST /v1/chat/completions", streamed, { isRepeatable, ...options });
  }
}

/** `hone.completions` */
export class CompletionCalls extends CallGroup {
  /** What comes behind texts or token ids, whole. */
  create(body: Unstreamed<CompletionRequest>, options?: RequestOptions): Promise<Completion> {
    return this.calls.value("POST /v1/completions", { body }, { isRepeatable, ...options });
  }

  /** The same as it is made; leaving the loop ends it. */
  stream(body: Unstreamed<CompletionRequest>, options?: RequestOptions): AsyncGenerator<CompletionChunk> {
    const streamed = { body: { ...body, stream: true } };
    return this.calls.events("POST /v1/completions", streamed, { isRepeatable, ...options });
  }
}

/** `hone.responses` */
export class ResponseCalls extends CallGroup {
  /** The response, whole. */
  create(body: Unstreamed<ResponseRequest>, options?: RequestOptions): Promise<ResponseObject> {
    return this.calls.value("POST /v1/responses", { body }, { isRepeatable, ...options });
  }

  /** Its events as it is made; leaving the loop ends it. What goes wrong on the way is an event `error`. */
  stream(body: Unstreamed<ResponseRequest>, options?: RequestOptions): AsyncGenerator<ResponseEvent> {
    const streamed = { body: { ...body, stream: true } };
    return this.calls.events("POST /v1/responses", streamed, { isRepeatable, ...options });
  }
}

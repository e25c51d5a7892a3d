// Client of one vLLM server: all its calls with their timeouts, and its failures as errors of this project. Callers
// decide which server to ask, and about retries.
import { systemClock } from "../../../base/domain/clock.ts";
import { ServiceError } from "../../../base/domain/service-error.ts";
import { retryAfterSeconds } from "../../../base/domain/waiting/retry-after.ts";
import {
  HttpClient,
  type HttpAnswer,
  type HttpRequest,
  type Timeouts,
} from "../../../base/http-client/http-client.ts";
import { AnswerTooLarge, HttpFailure, HttpTimeout } from "../../../base/http-client/http-failure.ts";
import { readText } from "../../../base/http-client/read-answer.ts";
import type { CompletionBody } from "./completion-body.ts";
import { readEventData } from "./event-stream.ts";
import {
  readChunk,
  readCompletion,
  readWhole,
  type Completion,
  type CompletionChunk,
  type WholeAnswer,
} from "./read-completion.ts";
import { readListedModels, type ListedModel } from "./listed-models.ts";
import { parsed, refusalOf, malformedAnswer } from "./vllm-errors.ts";

export interface VllmServerOptions {
  /** `http` or `https`; servers may be below a path. */
  readonly url: URL;
  /** Sent as a bearer token; null if it needs none. */
  readonly key: string | null;
  readonly timeouts: VllmTimeouts;
}

/** Timeouts in milliseconds. */
export interface VllmTimeouts {
  readonly connectMs: number;
  /** For calls that compute nothing. */
  readonly answerMs: number;
  /** Until the first token, including queueing and computing the prompt. */
  readonly firstTokenMs: number;
  /** Between tokens. */
  readonly nextTokenMs: number;
  /** For loading an adapter. */
  readonly adapterMs: number;
}

interface Call extends Required<Pick<HttpRequest, "method" | "timeouts" | "signal">> {
  /** With its leading slash. */
  readonly path: string;
  /** Sent as JSON. */
  readonly body?: unknown;
}

/** A part of an answer that arrived together. */
export interface StreamPart {
  readonly chunks: readonly CompletionChunk[];
  /** True if it completes the answer. */
  readonly isLast: boolean;
}

/** Maximum size of answers without tokens. */
const smallBytesMax = 4 * 2 ** 20;
/** The log-probabilities of a long prompt, with alternatives. */
const largeBytesMax = 1024 * 2 ** 20;

export class VllmServer {
  /** For people: the address without secrets. */
  readonly name: string;
  readonly #client = new HttpClient();
  readonly #headers: Readonly<Record<string, string>>;
  readonly #timeouts: VllmTimeouts;

  constructor({ url, key, timeouts }: VllmServerOptions) {
    this.name = `${url.protocol}//${url.host}${url.pathname.replace(/\/$/, "")}`;
    this.#headers = key === null ? {} : { authorization: `Bearer ${key}` };
    this.#timeouts = timeouts;
  }

  /** Closes all connections, including those in use. */
  close(): void {
    this.#client.close();
  }

  /** Such as `0.32.0+cpu`. */
  async version(options: { readonly signal: AbortSignal }): Promise<string> {
    const answer = await this.#ask({ method: "GET", path: "/version", ...options });
    const said = answer !== null && typeof answer === "object" && "version" in answer ? answer.version : null;
    if (typeof said === "string") return said;
    throw malformedAnswer("its version");
  }

  /** The model that it serves, under each of its names, and the loaded adapters. */
  async models(options: { readonly signal: AbortSignal }): Promise<readonly ListedModel[]> {
    return readListedModels(await this.#ask({ method: "GET", path: "/v1/models", ...options }));
  }

  /** Resolves if it reports good health. */
  async health(options: { readonly signal: AbortSignal }): Promise<void> {
    const answer = await this.#send({ method: "GET", path: "/health", timeouts: this.#quick, ...options });
    await this.#read(answer, smallBytesMax);
  }

  /** Streams the answer to a prompt. Leaving the generator before its last part ends the request at the server too. */
  async *stream(body: CompletionBody, options: { readonly signal: AbortSignal }): AsyncGenerator<StreamPart> {
    const { connectMs, firstTokenMs, nextTokenMs } = this.#timeouts;
    // A server may hold back the head of its answer until a request begins.
    const timeouts = { connectMs, answerMs: firstTokenMs, firstMs: firstTokenMs, nextMs: nextTokenMs };
    const whole = { ...body, stream: true, stream_options: { include_usage: true } };
    const answer = await this.#send({ method: "POST", path: completions, body: whole, timeouts, ...options });
    if (answer.status !== 200) await this.#refuse(answer);
    // Any byte extends the connection's timeouts: keep-alives, empty pieces, a dripping event. So the time between
    // tokens is measured too.
    let waitMs = firstTokenMs;
    let sinceMs = systemClock.monotonicMs();
    try {
      for await (const events of readEventData(answer.body)) {
        const isLast = events.includes(end);
        const chunks = events.flatMap((data) => (data === end ? [] : (readChunk(parsed(data)) ?? [])));
        if (isLast) answer.release();
        const hasMore = isLast || chunks.some(saysSomething);
        if (!hasMore && systemClock.monotonicMs() - sinceMs > waitMs) throw saysNothing(waitMs);
        if (isLast || chunks.length > 0) yield { chunks, isLast };
        if (isLast) return;
        if (!hasMore) continue;
        waitMs = nextTokenMs;
        // A slow reader is not a slow server.
        sinceMs = systemClock.monotonicMs();
      }
    } catch (error) {
      throw unreachable(error);
    }
    throw malformedAnswer("the end of its answer");
  }

  /** The log-probabilities of a prompt. */
  async complete(body: CompletionBody, options: { readonly signal: AbortSignal }): Promise<Completion> {
    return readCompletion(await this.#complete(body, options));
  }

  /**
   * Answers a prompt without streaming, including the parameters that another server needs to continue with the
   * prompt.
   */
  async answer(body: CompletionBody, options: { readonly signal: AbortSignal }): Promise<WholeAnswer> {
    return readWhole(await this.#complete(body, options));
  }

  async #complete(body: CompletionBody, options: { readonly signal: AbortSignal }): Promise<unknown> {
    const { connectMs, firstTokenMs, nextTokenMs } = this.#timeouts;
    const timeouts = { connectMs, answerMs: firstTokenMs, nextMs: nextTokenMs };
    const answer = await this.#send({ method: "POST", path: completions, body, timeouts, ...options });
    return await this.#read(answer, largeBytesMax);
  }

  /** @throws ServiceError `conflict` if it is loaded already, `not_found` if there is no adapter in the folder */
  async loadAdapter(name: string, folder: string, options: { readonly signal: AbortSignal }): Promise<void> {
    await this.#adapter("load", { lora_name: name, lora_path: folder }, options);
  }

  /** @throws ServiceError `not_found` if it is not loaded */
  async unloadAdapter(name: string, options: { readonly signal: AbortSignal }): Promise<void> {
    await this.#adapter("unload", { lora_name: name }, options);
  }

  async #adapter(
    what: "load" | "unload",
    body: unknown,
    options: { readonly signal: AbortSignal },
  ): Promise<void> {
    const { connectMs, adapterMs } = this.#timeouts;
    const timeouts = { connectMs, answerMs: adapterMs, nextMs: adapterMs };
    const path = `/v1/${what}_lora_adapter`;
    const answer = await this.#send({ method: "POST", path, body, timeouts, ...options });
    // The body is a sentence, not JSON.
    if (answer.status !== 200) await this.#refuse(answer);
    await readText(answer.body, smallBytesMax).catch((error: unknown) => {
      throw unreachable(error);
    });
  }

  async #ask(call: Omit<Call, "timeouts">): Promise<unknown> {
    return await this.#read(await this.#send({ ...call, timeouts: this.#quick }), smallBytesMax);
  }

  get #quick(): Timeouts {
    const { connectMs, answerMs } = this.#timeouts;
    return { connectMs, answerMs, nextMs: answerMs };
  }

  async #send({ method, path, body, timeouts, signal }: Call): Promise<HttpAnswer> {
    const sent =
      body === undefined
        ? { headers: this.#headers }
        : { headers: { ...this.#headers, "content-type": "application/json" }, body: JSON.stringify(body) };
    try {
      return await this.#client.send({ method, url: new URL(this.name + path), ...sent, timeouts, signal });
    } catch (error) {
      throw unreachable(error);
    }
  }

  async #read(answer: HttpAnswer, bytesMax: number): Promise<unknown> {
    if (answer.status !== 200) await this.#refuse(answer);
    const text = await readText(answer.body, bytesMax).catch((error: unknown) => {
      throw unreachable(error);
    });
    // `/health` has an empty body.
    return text === "" ? null : parsed(text);
  }

  async #refuse(answer: HttpAnswer): Promise<never> {
    const said = await readText(answer.body, smallBytesMax)
      .then((text): unknown => JSON.parse(text))
      .catch(() => null);
    throw refusalOf(answer.status, said, {
      retryAfterSeconds: retryAfterSeconds(answer.header("retry-after")),
    });
  }
}

function saysSomething(chunk: CompletionChunk): boolean {
  return chunk.kind === "usage" || chunk.tokens.length > 0 || chunk.finish !== null;
}

function saysNothing(durationMs: number): ServiceError {
  const message = `The server that computes this model sent no token for ${durationMs / 1000} s, although its answer continued.`;
  return new ServiceError({ code: "timeout", message });
}

const completions = "/v1/completions";
/** Ends a complete stream. */
const end = "[DONE]";

const phaseNames: Readonly<Record<HttpTimeout["phase"], string>> = {
  connection: "A connection to the server that computes this model",
  head: "The head of its answer",
  "first-part": "The first part of its answer",
  "next-part": "The next part of its answer",
};

/** Translates failures of the connection; other errors stay unchanged. */
function unreachable(error: unknown): unknown {
  if (error instanceof AnswerTooLarge) return malformedAnswer("a size within the limits", error);
  if (!(error instanceof HttpFailure)) return error;
  if (error instanceof HttpTimeout) {
    const late = `${phaseNames[error.phase]} did not come within ${error.durationMs / 1000} s.`;
    const code = error.phase === "connection" ? "unavailable" : "timeout";
    return new ServiceError({ code, message: late });
  }
  const message = error.wasSent
    ? "The server that computes this model broke off its answer; try again."
    : "The server that computes this model cannot be reached; try again later.";
  return new ServiceError({ code: "unavailable", message, retryAfterSeconds: 2, cause: error });
}

// Client of one vLLM server. Sends all calls to that server, with their timeouts, and converts failures into Hone's
// errors. Callers decide which server to use and whether to retry.
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
  /** URL of the server with `http` or `https`. It may include a path. */
  readonly url: URL;
  /** API key, which is sent as a bearer token; null if the server needs none. */
  readonly key: string | null;
  readonly timeouts: VllmTimeouts;
}

/** Timeouts in milliseconds. */
export interface VllmTimeouts {
  readonly connectMs: number;
  /** Timeout for the response to quick calls, such as health probes, which generate no tokens. */
  readonly answerMs: number;
  /** Timeout until the first token. It includes waiting in the server's queue and computing the prompt. */
  readonly firstTokenMs: number;
  /** Timeout between tokens. */
  readonly nextTokenMs: number;
  /** Timeout for loading an adapter. */
  readonly adapterMs: number;
}

interface Call extends Required<Pick<HttpRequest, "method" | "timeouts" | "signal">> {
  /** Path of the call's URL, with a leading slash. */
  readonly path: string;
  /** Body of the call, sent as JSON. */
  readonly body?: unknown;
}

/** Events of an answer that arrived at the same time. */
export interface StreamPart {
  readonly chunks: readonly CompletionChunk[];
  /** True if this part completes the answer. */
  readonly isLast: boolean;
}

/** Maximum size in bytes of an answer that contains no tokens. */
const smallBytesMax = 4 * 2 ** 20;
/**
 * Maximum size in bytes of an answer that contains tokens. The largest ones have the log-probabilities of a long
 * prompt, with alternatives.
 */
const largeBytesMax = 1024 * 2 ** 20;

export class VllmServer {
  /** Name of the server in messages: its address without any secrets. */
  readonly name: string;
  readonly #client = new HttpClient();
  readonly #headers: Readonly<Record<string, string>>;
  readonly #timeouts: VllmTimeouts;

  constructor({ url, key, timeouts }: VllmServerOptions) {
    this.name = `${url.protocol}//${url.host}${url.pathname.replace(/\/$/, "")}`;
    this.#headers = key === null ? {} : { authorization: `Bearer ${key}` };
    this.#timeouts = timeouts;
  }

  /** Closes all connections to the server, including those in use. */
  close(): void {
    this.#client.close();
  }

  /** Returns the server's version of vLLM, such as `0.32.0+cpu`. */
  async version(options: { readonly signal: AbortSignal }): Promise<string> {
    const answer = await this.#ask({ method: "GET", path: "/version", ...options });
    const said = answer !== null && typeof answer === "object" && "version" in answer ? answer.version : null;
    if (typeof said === "string") return said;
    throw malformedAnswer("its version");
  }

  /** Returns the models that the server lists: its model under each of its names, and the loaded adapters. */
  async models(options: { readonly signal: AbortSignal }): Promise<readonly ListedModel[]> {
    return readListedModels(await this.#ask({ method: "GET", path: "/v1/models", ...options }));
  }

  /** Resolves if the server reports that it is healthy. */
  async health(options: { readonly signal: AbortSignal }): Promise<void> {
    const answer = await this.#send({ method: "GET", path: "/health", timeouts: this.#quick, ...options });
    await this.#read(answer, smallBytesMax);
  }

  /**
   * Streams the answer to a prompt. Leaving the generator before its last part also aborts the request at the server.
   */
  async *stream(body: CompletionBody, options: { readonly signal: AbortSignal }): AsyncGenerator<StreamPart> {
    const { connectMs, firstTokenMs, nextTokenMs } = this.#timeouts;
    // Some servers send even the response headers only when they begin to compute the request. So the timeout of the
    // first token applies to the headers too.
    const timeouts = { connectMs, answerMs: firstTokenMs, firstMs: firstTokenMs, nextMs: nextTokenMs };
    const whole = { ...body, stream: true, stream_options: { include_usage: true } };
    const answer = await this.#send({ method: "POST", path: completions, body: whole, timeouts, ...options });
    if (answer.status !== 200) await this.#refuse(answer);
    // Any received byte restarts the connection's timeouts, even a keep-alive, an empty piece, or a part of an event.
    // So the time between tokens is measured separately.
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
        // The time that the reader takes to process events does not count against the server's timeout.
        sinceMs = systemClock.monotonicMs();
      }
    } catch (error) {
      throw unreachable(error);
    }
    throw malformedAnswer("the end of its answer");
  }

  /** Returns an answer with the log-probabilities of its prompt. */
  async complete(body: CompletionBody, options: { readonly signal: AbortSignal }): Promise<Completion> {
    return readCompletion(await this.#complete(body, options));
  }

  /**
   * Returns an answer that is not streamed, with the parameters that another server needs to continue with the prompt.
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

  /**
   * Loads an adapter from a folder, under a name.
   *
   * @throws ServiceError `conflict` if the adapter is already loaded, `not_found` if there is no adapter in the folder
   */
  async loadAdapter(name: string, folder: string, options: { readonly signal: AbortSignal }): Promise<void> {
    await this.#adapter("load", { lora_name: name, lora_path: folder }, options);
  }

  /**
   * Unloads an adapter.
   *
   * @throws ServiceError `not_found` if the adapter is not loaded
   */
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
    // The body is not parsed, because on success vLLM sends a plain sentence instead of JSON.
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
    // The body is empty for `/health`.
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
/** Data of the event with which a complete stream ends. */
const end = "[DONE]";

const phaseNames: Readonly<Record<HttpTimeout["phase"], string>> = {
  connection: "A connection to the server that computes this model",
  head: "The head of its answer",
  "first-part": "The first part of its answer",
  "next-part": "The next part of its answer",
};

/** Translates failures of the connection. Returns other errors unchanged. */
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

// A `fetch` that records one model's calls with their exact tokens, for any library that accepts a base URL, a key and
// a `fetch`. Callers see the same answers as without recording.
import {
  askedBy,
  withTokenFields,
  isRecorded,
  objectIn,
  readRequest,
  type RequestedTokens,
  type JsonObject,
  type SentRequest,
} from "./model-request.ts";
import { StreamedChoices } from "./streamed-choices.ts";
import { tappedStream } from "./tapped-stream.ts";

/** Type of the `fetch` that libraries accept. */
export type Fetch = (input: string | URL | Request, init?: RequestInit) => Promise<Response>;

/** A call of the model, as sent, with its answer. */
export interface RecordedCall {
  /** Request body with the API's field names, including the defaults and the seed that were sent. */
  readonly request: JsonObject;
  /** Choices of the answer, each with its own tokens and those of its prompt. */
  readonly choices: readonly JsonObject[];
}

export interface RecordingOptions {
  /** Function that sends requests. */
  readonly send: (url: string, request: RequestInit) => Promise<Response>;
  /** Name of the recorded model. Calls of other models are passed on unchanged. */
  readonly model: string;
  /** Default fields of the model's requests. */
  readonly defaults: JsonObject;
  /** Returns a seed for a request without one. */
  readonly seed: () => number;
  /** Aborts every request when it aborts. */
  readonly signal: AbortSignal;
  /**
   * Called when a call begins. Returns a function that stores the answer's choices, which is not called if the call
   * fails.
   */
  readonly onCall: (request: JsonObject) => (choices: readonly JsonObject[]) => void;
  /** Returns the request with the exact tokens of the earlier answer that it continues. */
  readonly withSampledTokens: (request: JsonObject) => JsonObject;
}

export function recordingFetch(options: RecordingOptions): Fetch {
  const { send, model, signal } = options;
  return async (input, init = {}) => {
    signal.throwIfAborted();
    const request = await readRequest(input, init);
    const calls = request === null ? "no" : isRecorded(request, model);
    if (request !== null && calls === "yes") return recordedAnswer(request, options);
    if (typeof calls === "object") return refused(calls.refusal);
    if (!(input instanceof Request))
      return send(String(input), { ...init, signal: either(signal, init.signal) });
    const asked = new Request(input, init);
    const { url, method, headers } = asked;
    const body = asked.body === null ? {} : { body: await asked.arrayBuffer() };
    return send(url, { method, headers, ...body, signal: either(signal, asked.signal) });
  };
}

const badRequest = 400;

/**
 * Returns an error response like a server's. An error thrown by `fetch` would be hidden by libraries behind a
 * connection error, and retried.
 */
function refused(message: string): Response {
  const error = { message, type: "invalid_request_error", param: "model", code: "not_recorded" };
  return Response.json({ error }, { status: badRequest });
}

async function recordedAnswer(
  { url, method, body, headers, signal }: SentRequest,
  { send, defaults, seed, signal: end, onCall, withSampledTokens }: RecordingOptions,
): Promise<Response> {
  // A recorded request always has a body.
  const given = body ?? {};
  const sent = withTokenFields(given, { defaults, seed });
  const whole = withSampledTokens(sent);
  const record = onCall(sent);
  // The header would state the length of the old body.
  headers.delete("content-length");
  const response = await send(url, {
    method,
    headers,
    // The record keeps the caller's messages without the sampled tokens, which its Choices already contain.
    body: JSON.stringify(whole),
    signal: either(end, signal),
  });
  if (!response.ok || response.body === null) return response;
  const asked = askedBy(given);
  if (sent["stream"] === true) return likeAnswer(response, streamed(response.body, asked, record));
  const text = await response.text();
  const answer = objectIn(text);
  if (answer === null) return likeAnswer(response, text);
  record(choicesOf(answer));
  return likeAnswer(response, JSON.stringify(toCallerAnswer(answer, asked)));
}

function streamed(
  body: ReadableStream<Uint8Array>,
  asked: RequestedTokens,
  record: (choices: readonly JsonObject[]) => void,
): ReadableStream<Uint8Array> {
  const gathered = new StreamedChoices();
  return tappedStream(body, {
    onEvent: (event) => {
      gathered.add(event);
      return toCallerAnswer(event, asked);
    },
    // If the reader stops early, the part that it read is recorded. A broken stream is not recorded.
    onEnd: (end) => (end === "broken" ? undefined : record(gathered.choices())),
  });
}

function either(one: AbortSignal, other: AbortSignal | null | undefined): AbortSignal {
  return other === null || other === undefined ? one : AbortSignal.any([one, other]);
}

function choicesOf(answer: JsonObject): readonly JsonObject[] {
  const { choices, prompt_token_ids: prompt } = answer;
  if (!Array.isArray(choices)) return [];
  return (choices as readonly JsonObject[]).map((choice) => ({ prompt_token_ids: prompt, ...choice }));
}

function likeAnswer({ status, statusText, headers }: Response, body: string | ReadableStream): Response {
  const kept = new Headers(headers);
  // These headers describe the original body, which has been replaced.
  for (const name of ["content-length", "content-encoding"]) kept.delete(name);
  return new Response(body, { status, statusText, headers: kept });
}

/** Returns an answer or a chunk as the caller should see it; null for a chunk that would be empty without its tokens. */
function toCallerAnswer(answer: JsonObject, asked: RequestedTokens): JsonObject | null {
  const { choices } = answer;
  if (!Array.isArray(choices)) return answer;
  const seen = (choices as readonly JsonObject[]).map((choice) => toCallerChoice(choice, asked));
  const showsTokens = asked.tokens || asked.logprobs || Object.hasOwn(answer, "usage");
  if (!showsTokens && seen.length > 0 && seen.every(isEmptyChunk)) return null;
  const hidesPrompt = Object.hasOwn(answer, "prompt_token_ids") && !asked.promptBesideChoices;
  return { ...answer, choices: seen, ...(hidesPrompt ? { prompt_token_ids: null } : {}) };
}

function toCallerChoice(choice: JsonObject, asked: RequestedTokens): JsonObject {
  const { prompt_token_ids: prompt, ...rest } = choice;
  return {
    ...rest,
    ...(asked.logprobs ? {} : hidden(choice, "logprobs")),
    ...(asked.tokens ? {} : hidden(choice, "token_ids")),
    ...(asked.promptInChoices && prompt !== undefined ? { prompt_token_ids: prompt } : {}),
  };
}

function hidden(choice: JsonObject, name: string): JsonObject {
  return Object.hasOwn(choice, name) ? { [name]: null } : {};
}

/** True for a chunk that carries only tokens, because their text is empty or comes with a later chunk. */
function isEmptyChunk({ delta, finish_reason: finish }: JsonObject): boolean {
  if (typeof delta !== "object" || delta === null || (finish ?? null) !== null) return false;
  return Object.values(delta).every((value) => value === null || value === "");
}

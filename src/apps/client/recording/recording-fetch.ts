// A `fetch` that records one model's calls with their exact tokens, for any library that accepts a base address, a key
// and a `fetch`. Callers see the answers that they would get without it.
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

/** The type of `fetch` that libraries accept. */
export type Fetch = (input: string | URL | Request, init?: RequestInit) => Promise<Response>;

/** A call of the model as sent, with its answer. */
export interface RecordedCall {
  /** In the API's own spelling, with the defaults and seed that were sent. */
  readonly request: JsonObject;
  /** Choices as answered, each with the tokens of its prompt and its own. */
  readonly choices: readonly JsonObject[];
}

export interface RecordingOptions {
  /** Sends every request. */
  readonly send: (url: string, request: RequestInit) => Promise<Response>;
  /** The recorded model; calls of other models pass through unchanged. */
  readonly model: string;
  /** Default request fields. */
  readonly defaults: JsonObject;
  /** Returns a seed for a request without one. */
  readonly seed: () => number;
  /** Aborts every request. */
  readonly signal: AbortSignal;
  /** Called when a call begins; returns a function that takes the choices. A failed call has none. */
  readonly onCall: (request: JsonObject) => (choices: readonly JsonObject[]) => void;
  /** Returns the messages with the tokens of the earlier answer that they continue. */
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

/** Answers as a server would: libraries hide errors thrown by `fetch` behind a connection error, and retry. */
function refused(message: string): Response {
  const error = { message, type: "invalid_request_error", param: "model", code: "not_recorded" };
  return Response.json({ error }, { status: badRequest });
}

async function recordedAnswer(
  { url, method, body, headers, signal }: SentRequest,
  { send, defaults, seed, signal: end, onCall, withSampledTokens }: RecordingOptions,
): Promise<Response> {
  // A recorded request has a body.
  const given = body ?? {};
  const sent = withTokenFields(given, { defaults, seed });
  const whole = withSampledTokens(sent);
  const record = onCall(sent);
  // The length has changed.
  headers.delete("content-length");
  const response = await send(url, {
    method,
    headers,
    // The record keeps the caller's messages; the sampled tokens are in its Choices.
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
    // If the reader stops early, what it saw counts as said. A broken stream does not.
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
  // These describe the original bytes.
  for (const name of ["content-length", "content-encoding"]) kept.delete(name);
  return new Response(body, { status, statusText, headers: kept });
}

/** Returns an answer or chunk as the caller should see it; null for a chunk that is empty without its tokens. */
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

/** True for a chunk that carries only tokens: their text is held back or empty. */
function isEmptyChunk({ delta, finish_reason: finish }: JsonObject): boolean {
  if (typeof delta !== "object" || delta === null || (finish ?? null) !== null) return false;
  return Object.values(delta).every((value) => value === null || value === "");
}

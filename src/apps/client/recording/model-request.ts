// Detects requests that call the trained model, and adds the fields that make their answers include tokens.

/** A parsed JSON object, with the field names of the API. */
export type JsonObject = Readonly<Record<string, unknown>>;

/** A request as a library passes it to `fetch`. */
export interface SentRequest {
  readonly url: string;
  readonly method: string;
  /** Parsed body; null if there is none or it is not a JSON object. */
  readonly body: JsonObject | null;
  readonly headers: Headers;
  readonly signal: AbortSignal | null;
}

/** Parses the arguments of `fetch`; null for a request other than a POST, which is never recorded. */
export async function readRequest(
  input: string | URL | Request,
  init: RequestInit = {},
): Promise<SentRequest | null> {
  const given = input instanceof Request ? input : null;
  const method = init.method ?? given?.method ?? "GET";
  if (method.toUpperCase() !== "POST") return null;
  const text = init.body === undefined ? await given?.clone().text() : await textOf(init.body);
  return {
    url: input instanceof Request ? input.url : input.toString(),
    method,
    body: objectIn(text ?? ""),
    headers: new Headers(init.headers ?? given?.headers),
    signal: init.signal ?? given?.signal ?? null,
  };
}

async function textOf(body: RequestInit["body"]): Promise<string> {
  // Does not read a stream: a stream can be read only once, and this one must still be sent.
  if (body === null || body instanceof ReadableStream) return "";
  return typeof body === "string" ? body : new Response(body).text();
}

export function objectIn(text: string): JsonObject | null {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === "object" && value !== null && !Array.isArray(value)
      ? (value as JsonObject)
      : null;
  } catch {
    return null;
  }
}

/** Routes that call a model, but whose answers lack the tokens that training needs. */
const unrecorded = /\/(responses|completions|messages)\/?$/;
const recorded = /\/chat\/completions\/?$/;

/**
 * Returns `yes` if the request calls the recorded model by a route that includes tokens, `no` for other requests, or
 * the reason to refuse it. A call whose answer lacks tokens is refused, because it would silently be missing from
 * training.
 */
export function isRecorded(
  { url, body }: SentRequest,
  model: string,
): "yes" | "no" | { readonly refusal: string } {
  if (body?.["model"] !== model) return "no";
  const { pathname } = new URL(url);
  if (recorded.test(pathname)) return "yes";
  if (!unrecorded.test(pathname)) return "no";
  return {
    refusal: `${pathname} cannot be recorded, since its answers do not include tokens; call ${model} by chat completions, as with openai.chat.completions or trajectory.agents().`,
  };
}

/**
 * Token fields that the caller should see. Without recording, a trained model's answers include them unless the
 * request disables them.
 */
export interface RequestedTokens {
  /** True to keep the prompt's tokens next to the choices. */
  readonly promptBesideChoices: boolean;
  /** True to keep the prompt's tokens in each choice. */
  readonly promptInChoices: boolean;
  readonly tokens: boolean;
  readonly logprobs: boolean;
}

export function askedBy({ return_token_ids: ids, logprobs }: JsonObject): RequestedTokens {
  const inChoices = ids !== false && logprobs !== false;
  return {
    promptBesideChoices: ids === true,
    promptInChoices: inChoices,
    tokens: inChoices || ids === true,
    logprobs: logprobs !== false,
  };
}

const lengthNames = ["max_tokens", "max_completion_tokens"];

/**
 * Returns the body to send: the caller's fields, defaults for omitted fields, a seed, and the fields that request
 * tokens.
 *
 * @param seed returns a seed; called if neither the caller nor the defaults set one
 */
export function withTokenFields(
  body: JsonObject,
  { defaults, seed }: { readonly defaults: JsonObject; readonly seed: () => number },
): JsonObject {
  const given = Object.fromEntries(Object.entries(body).filter(([, value]) => value !== null));
  const hasLength = lengthNames.some((name) => Object.hasOwn(given, name));
  const added = Object.entries(defaults).filter(([name]) => !(hasLength && lengthNames.includes(name)));
  const { logprobs, ...rest }: JsonObject = { ...Object.fromEntries(added), ...given };
  return {
    ...rest,
    seed: rest["seed"] ?? seed(),
    return_token_ids: true,
    // If `logprobs` is omitted, the log probabilities identify tokens by id.
    ...(logprobs === true ? { logprobs } : {}),
  };
}

// Which requests are calls of the model that is trained, and how they are sent so that their answers tell their tokens.

/** An object as parsed of JSON, in the API's own spelling. */
export type JsonObject = Readonly<Record<string, unknown>>;

/** A request as a library hands it to `fetch`. */
export interface SentRequest {
  readonly url: string;
  readonly method: string;
  /** Null where there is none, or it is no JSON object. */
  readonly body: JsonObject | null;
  readonly headers: Headers;
  readonly signal: AbortSignal | null;
}

/** Reads what `fetch` was called with; null where it is no POST, which is then left as it is. */
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
  // A stream can be read once, and is sent by whoever made it.
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

/** Routes that call a model, and whose answers do not tell all that training needs. */
const unrecorded = /\/(responses|completions|messages)\/?$/;
const recorded = /\/chat\/completions\/?$/;

/**
 * Whether the request calls the model that is to be recorded: `yes`; `no` for anything else; or why it is refused, for a
 * call whose answer does not tell its tokens: it would silently not train.
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
    refusal: `${pathname} is not recorded, since its answers do not tell their tokens; call ${model} by chat completions, as with openai.chat.completions or trajectory.agents().`,
  };
}

/** What a caller gets to see of tokens, by what it asked for: a trained model's answers have them unless a request says no. */
export interface Asked {
  /** Prompt tokens beside the choices. */
  readonly promptBesideChoices: boolean;
  /** Tokens of the prompt in each choice. */
  readonly promptInChoices: boolean;
  readonly tokens: boolean;
  readonly logprobs: boolean;
}

export function askedBy({ return_token_ids: ids, logprobs }: JsonObject): Asked {
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
 * The body as it is sent: as the caller gave it, with defaults for what it left open, a seed, and its tokens asked for.
 *
 * @param seed called where neither the caller nor the defaults have one
 */
export function askingForTokens(
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
    // Left open, they name tokens by their ids.
    ...(logprobs === true ? { logprobs } : {}),
  };
}

// A `fetch` for the calls of a trajectory, for any library that accepts one. It sends calls of the trajectory's model
// to the rollout, with defaults and a seed, and all other requests to the server. Answers pass through unchanged.

/** Type of the `fetch` that libraries accept. */
export type Fetch = (input: string | URL | Request, init?: RequestInit) => Promise<Response>;

/** A parsed JSON object, with the field names of the API. */
export type JsonObject = Readonly<Record<string, unknown>>;

/** Base URL with `/v1`, and a key. If the key is null, none is sent. */
export interface Target {
  readonly baseURL: string;
  readonly apiKey: string | null;
}

export interface TrajectoryFetchOptions {
  /** Function that sends requests. */
  readonly send: (url: string, request: RequestInit) => Promise<Response>;
  /** Name of the trajectory's model. */
  readonly model: string;
  readonly rollout: Target;
  readonly server: Target;
  /** Default fields of the model's requests. */
  readonly defaults: JsonObject;
  /** Returns a seed for a request without one. */
  readonly seed: () => number;
  /** Aborts every request when it aborts. */
  readonly signal: AbortSignal;
  /** Called with the id under which an answer of the model is recorded. */
  readonly onAnswer: (requestId: string) => void;
}

/** Matches the routes that call a model, of all APIs. */
export const callRoute = /\/(chat\/completions|completions|responses|messages)\/?$/;

export function trajectoryFetch(options: TrajectoryFetchOptions): Fetch {
  const { send, model, rollout, server, signal, onAnswer } = options;
  return async (input, init = {}) => {
    signal.throwIfAborted();
    const asked = new Request(input, init);
    const { method } = asked;
    const bytes = asked.body === null ? null : await asked.arrayBuffer();
    const [, route = null] = (method === "POST" && callRoute.exec(new URL(asked.url).pathname)) || [];
    const body = route === null || bytes === null ? null : objectIn(new TextDecoder().decode(bytes));
    const headers = new Headers(asked.headers);
    // The header would state the length of the old body.
    headers.delete("content-length");
    const request = { method, headers, signal: AbortSignal.any([signal, asked.signal]) };
    if (route === null || body?.["model"] !== model) {
      const isBelow = asked.url.startsWith(rollout.baseURL);
      if (isBelow) setKey(headers, server.apiKey);
      const url = isBelow ? server.baseURL + asked.url.slice(rollout.baseURL.length) : asked.url;
      return send(url, { ...request, ...(bytes === null ? {} : { body: bytes }) });
    }
    setKey(headers, rollout.apiKey);
    const text = JSON.stringify(withDefaults(body, route, options));
    const response = await send(`${rollout.baseURL}/${route}`, { ...request, body: text });
    const call = response.headers.get("x-hone-call")?.split("/").at(-1);
    if (call !== undefined) onAnswer(decodeURIComponent(call));
    return response;
  };
}

/** Replaces the credentials of any API. */
function setKey(headers: Headers, apiKey: string | null): void {
  headers.delete("x-api-key");
  headers.delete("authorization");
  if (apiKey !== null) headers.set("authorization", `Bearer ${apiKey}`);
}

const lengthNames = ["max_tokens", "max_completion_tokens", "max_output_tokens"];

/** Returns the body to send: the caller's fields, defaults for omitted fields, and a seed. */
function withDefaults(
  body: JsonObject,
  route: string,
  { defaults, seed }: Pick<TrajectoryFetchOptions, "defaults" | "seed">,
): JsonObject {
  const given = Object.fromEntries(Object.entries(body).filter(([, value]) => value !== null));
  const isLength = (name: string): boolean => lengthNames.includes(name);
  const hasLength = Object.keys(given).some(isLength);
  const lengthName = route === "responses" ? "max_output_tokens" : "max_tokens";
  const added = Object.entries(defaults)
    .filter(([name]) => !(hasLength && isLength(name)))
    .map(([name, value]) => [isLength(name) && route !== "chat/completions" ? lengthName : name, value]);
  const sent: JsonObject = { ...Object.fromEntries(added), ...given };
  return { ...sent, seed: sent["seed"] ?? seed() };
}

function objectIn(text: string): JsonObject | null {
  try {
    const value: unknown = JSON.parse(text);
    // Safe cast: an object without a list is a JSON object.
    return typeof value === "object" && value !== null && !Array.isArray(value)
      ? (value as JsonObject)
      : null;
  } catch {
    return null;
  }
}

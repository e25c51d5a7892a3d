// A `fetch` for the calls of a trajectory, for any library that accepts one. It sends calls of the trajectory's model
// to the rollout, with defaults and a seed, and all other requests to the server. Answers pass through unchanged.

import { seedOf } from "../training/seeds.ts";

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
  /** Returns a new unique id. */
  readonly newId: () => string;
  /** Aborts every request when it aborts. */
  readonly signal: AbortSignal;
  /** Called with the id under which an answer of the model is recorded. */
  readonly onAnswer: (requestId: string) => void;
}

/** Matches the routes that call a model, of all APIs. */
export const callRoute = /\/(chat\/completions|completions|responses|messages)\/?$/;

export function trajectoryFetch(options: TrajectoryFetchOptions): Fetch {
  const { send, model, rollout, server, signal, onAnswer } = options;
  const identify = callIdentities(options);
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
    const sent = withDefaults(body, route, options);
    const { seed, key } = identify(sent, route, headers);
    // If `send` or the library repeats the request, the server recognizes the call by its key.
    if (!headers.has("idempotency-key")) headers.set("idempotency-key", key);
    const text = JSON.stringify({ ...sent, seed });
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

interface CallIdentity {
  readonly seed: unknown;
  readonly key: string;
}

/**
 * Returns a function that gives each call a key, and a seed if it has none. A call that a library of Stainless repeats
 * gets the same ones, unless several calls had this body: then it is unknown which of them the library repeats.
 */
function callIdentities({ seed, newId }: Pick<TrajectoryFetchOptions, "seed" | "newId">) {
  const known = new Map<number, CallIdentity | null>();
  return (body: JsonObject, route: string, headers: Headers): CallIdentity => {
    const hash = seedOf(route, JSON.stringify(body));
    const isRepeated = Number(headers.get("x-stainless-retry-count") ?? 0) > 0;
    const found = isRepeated ? known.get(hash) : null;
    if (found !== null && found !== undefined) return found;
    const identity = { seed: body["seed"] ?? seed(), key: newId() };
    known.set(hash, known.has(hash) ? null : identity);
    return identity;
  };
}

const lengthNames = ["max_tokens", "max_completion_tokens", "max_output_tokens"];

/** Returns the caller's fields, with defaults for omitted fields. */
function withDefaults(
  body: JsonObject,
  route: string,
  { defaults }: Pick<TrajectoryFetchOptions, "defaults">,
): JsonObject {
  const given = Object.fromEntries(Object.entries(body).filter(([, value]) => value !== null));
  const isLength = (name: string): boolean => lengthNames.includes(name);
  const hasLength = Object.keys(given).some(isLength);
  const lengthName = route === "responses" ? "max_output_tokens" : "max_tokens";
  const added = Object.entries(defaults)
    .filter(([name]) => !(hasLength && isLength(name)))
    .map(([name, value]) => [isLength(name) && route !== "chat/completions" ? lengthName : name, value]);
  return { ...Object.fromEntries(added), ...given };
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

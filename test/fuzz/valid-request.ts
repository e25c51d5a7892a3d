// Type of the valid requests with which the fuzzer begins, and the objects that they refer to.
import type { Random } from "../../src/base/domain/random.ts";

/** Objects that requests refer to; created before the first request. */
export interface FuzzedWorld {
  readonly apiKey: string;
  readonly modelId: string;
  /** A model that requests may delete. */
  readonly spareModelId: string;
  /** A job that has ended. */
  readonly jobId: string;
  /** An uploaded file. */
  readonly fileId: string;
  /** A pending upload in parts. */
  readonly uploadId: string;
  /** An annotation queue with an item. */
  readonly queueId: string;
  readonly itemId: string;
  /** An open rollout of the model. */
  readonly rolloutId: string;
  /** A session of the Tinker API, with a model in training that has saved weights. */
  readonly sessionId: string;
  /** A fine-tuning job. */
  readonly tuningJobId: string;
}

export interface ValidRequest {
  readonly method: "GET" | "POST" | "PUT" | "DELETE";
  readonly path: string;
  /** Body of the request; undefined for none. Bytes are sent unchanged. */
  readonly body?: unknown;
  /** Returns another, possibly malformed body as bytes. */
  readonly oddBody?: (random: Random) => Buffer;
  readonly headers?: Readonly<Record<string, string>>;
  readonly scheme?: "Bearer" | "Basic" | "none";
  /** Names of fields that may occur in the body, or of query parameters. */
  readonly names: readonly string[];
  /** Schema of the body, from which additional fields are generated. */
  readonly schema?: object;
}

/** Returns a function that creates requests with this method. A parameter is a field of the body or of the query. */
export function requestsOf(method: ValidRequest["method"], common: Partial<ValidRequest> = {}) {
  return (
    path: string,
    { schema }: { readonly schema?: object } = {},
    body?: unknown,
    rest: Partial<ValidRequest> = {},
  ): ValidRequest => ({
    method,
    path,
    body,
    names: [...pageNames, ...namesIn(schema)],
    ...(schema === undefined ? {} : { schema }),
    ...common,
    ...rest,
  });
}

/** Names of query parameters. */
const pageNames: readonly string[] = [
  "after",
  "limit",
  "order",
  "offset",
  "state",
  "group",
  "split",
  "version",
];

/** Returns the names of all fields in a schema, including those of nested objects. */
export function namesIn(schema: unknown): readonly string[] {
  if (Array.isArray(schema)) return [...new Set(schema.flatMap(namesIn))];
  if (typeof schema !== "object" || schema === null) return [];
  const { properties = {} } = schema as { readonly properties?: object };
  return [...new Set([...Object.keys(properties), ...Object.values(schema).flatMap(namesIn)])];
}

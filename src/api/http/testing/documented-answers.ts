// For tests: checks an answer against the documented schema of its route. Reports undocumented members as faults,
// although clients must tolerate them, because otherwise the documentation would become incomplete.
import { Ajv2020, type ValidateFunction } from "ajv/dist/2020.js";
import { assert } from "../../../base/domain/assert.ts";
import type { ApiDocument, Media, Operation } from "./api-document.ts";
import { errorSchema } from "../../wire/error.ts";
import { ollamaErrorSchema } from "../../wire/ollama/error.ts";
import { isOllamas } from "../ollama/dialect.ts";

export interface Answer {
  readonly method: string;
  readonly url: string;
  readonly status: number;
  readonly contentType: string;
  readonly body: string;
}

const ajv = new Ajv2020({
  strict: false,
  validateFormats: false,
  allErrors: true,
  // Another test checks the schemas themselves.
  validateSchema: false,
  // Most schemas check only a few answers, so optimizing their code takes longer than it saves.
  code: { optimize: false },
});
/** Compiled schemas, by the schema and by its JSON text, because many routes have equal schemas. */
const compiled = new Map<object | string, ValidateFunction>();

/**
 * Checks an answer against the API's document.
 *
 * @throws Error that names the route and the undocumented parts of its answer
 */
export function checkAnswer(document: ApiDocument, answer: Answer): void {
  const { method, url, status, contentType, body } = answer;
  // HEAD answers have no body.
  if (method === "HEAD") return;
  const operation = operationOf(document, method, url);
  const mediaType = contentType.split(";", 1)[0] ?? "";
  // The OpenAPI document does not list the routes of itself and of its page. An error for an unknown path is checked
  // against the error schema.
  if (operation === null && status < 400) return;
  const content: Readonly<Record<string, Media>> | undefined =
    operation === null
      ? { "application/json": { schema: isOllamas(url) ? ollamaErrorSchema : errorSchema } }
      : (operation.responses[status] ?? operation.responses[`${Math.floor(status / 100)}XX`])?.content;
  const schema = content?.[mediaType]?.schema;
  const route = `${method} ${url.split("?", 1)[0]} ${status}`;
  assert(schema !== undefined, `the document says nothing of ${mediaType} as an answer of ${route}`);
  for (const value of valuesIn(mediaType, body)) {
    // An error during a stream is an event with the error body. The schema of the stream's events does not include it.
    const isError = typeof value === "object" && value !== null && "detail" in value && !("type" in value);
    const validate = validator(isError && mediaType === "text/event-stream" ? errorSchema : schema);
    if (validate(value)) continue;
    const faults = (validate.errors ?? [])
      .slice(0, 5)
      .map(({ instancePath, message, params }) =>
        [instancePath, message, params["additionalProperty"]].filter(Boolean).join(" "),
      );
    throw new Error(`${route} answers what its documented schema does not say: ${faults.join("; ")}`);
  }
}

interface DocumentedPath {
  readonly pattern: RegExp;
  readonly operations: Readonly<Record<string, Operation>>;
}

/** Paths of each document. Like the router, prefers a fixed path segment to a parameter. */
const pathsOf = new WeakMap<ApiDocument, readonly DocumentedPath[]>();

function operationOf(document: ApiDocument, method: string, url: string): Operation | null {
  const path = url.split("?", 1)[0] ?? "";
  const paths = pathsOf.get(document) ?? readPaths(document);
  pathsOf.set(document, paths);
  return paths.find(({ pattern }) => pattern.test(path))?.operations[method.toLowerCase()] ?? null;
}

function readPaths({ paths }: ApiDocument): readonly DocumentedPath[] {
  const parameterCount = (path: string): number => path.split("{").length;
  return Object.entries(paths)
    .sort(([one], [other]) => parameterCount(one) - parameterCount(other))
    .map(([path, operations]) => ({
      pattern: new RegExp(`^${path.replaceAll(/\{\w+\}/g, "[^/]+").replaceAll(".", "\\.")}$`),
      operations,
    }));
}

function eventsIn(body: string): readonly unknown[] {
  return body
    .split("\n")
    .filter((line) => line.startsWith("data: ") && line !== "data: [DONE]")
    .map((line) => JSON.parse(line.slice("data: ".length)) as unknown);
}

/** Returns the values that the schema of this media type describes: the answer, or each event or line of a stream. */
function valuesIn(mediaType: string, body: string): readonly unknown[] {
  if (mediaType === "text/event-stream") return eventsIn(body);
  if (mediaType === "application/x-ndjson")
    return body
      .trimEnd()
      .split("\n")
      .map((line) => JSON.parse(line) as object);
  return [mediaType === "application/json" ? JSON.parse(body) : body];
}

function validator(schema: object): ValidateFunction {
  const known = compiled.get(schema);
  if (known !== undefined) return known;
  const text = JSON.stringify(schema);
  const validate = compiled.get(text) ?? ajv.compile(closed(schema) as object);
  compiled.set(schema, validate).set(text, validate);
  return validate;
}

/**
 * Returns a copy of the schema with `additionalProperties: false` in each object that names properties and does not set
 * it.
 */
function closed(schema: unknown): unknown {
  if (Array.isArray(schema)) return schema.map(closed);
  if (typeof schema !== "object" || schema === null) return schema;
  const members = Object.entries(schema).map(([name, value]) => [name, closed(value)] as const);
  const isOpen = !Object.hasOwn(schema, "properties") || Object.hasOwn(schema, "additionalProperties");
  return { ...Object.fromEntries(members), ...(isOpen ? {} : { additionalProperties: false }) };
}

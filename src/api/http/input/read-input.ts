// Reads a request's query or its parsed body, and reports ignored fields to the client in a header.
import type { FastifyReply, FastifyRequest } from "fastify";
import { report } from "../../../base/validation/findings.ts";
import type { SchemaNode } from "../../../base/validation/schema.ts";
import { checked, type ObjectSchema, type ValueOf, readForm, type BodyForm } from "../../wire/body.ts";

/** Maximum number of ignored fields that the header names, because clients and proxies limit the size of headers. */
const nameCountMax = 32;

/**
 * Reports ignored fields in the header `x-hone-ignored`. Characters that a header cannot contain are replaced by `?`.
 */
export function nameIgnored(reply: FastifyReply, names: readonly string[]): void {
  if (names.length === 0) return;
  const safe = names.slice(0, nameCountMax).map((name) => name.slice(0, 80).replaceAll(/[^\w.*-]/g, "?"));
  if (names.length > nameCountMax) safe.push("...");
  reply.header("x-hone-ignored", safe.join(", "));
}

/**
 * Reads the query, and reports ignored fields to the client. Converts texts to numbers, and single values to lists, if
 * the schema requires that.
 *
 * @throws ServiceError `invalid` with every fault, located under `query`
 */
export function readQuery<Schema extends ObjectSchema>(
  schema: Schema,
  request: FastifyRequest<{ Params: never }>,
  reply: FastifyReply,
): ValueOf<Schema> {
  const properties = schema.properties as Readonly<Record<string, SchemaNode>>;
  const repeated = new Map<string, number>();
  const values = Object.entries(request.query as Readonly<Record<string, unknown>>).map(([name, given]) => {
    const isKnown = Object.hasOwn(properties, name);
    const type = isKnown ? properties[name]?.type : undefined;
    if (type === "array") return [name, Array.isArray(given) ? given : [given]] as const;
    if (!Array.isArray(given)) return [name, valueOf(given, type)] as const;
    if (isKnown) repeated.set(name, given.length);
    return [name, valueOf(given[0], type)] as const;
  });
  const { value, ignored } = checked(schema, Object.fromEntries(values), "query", (_, findings) => {
    for (const [name, count] of repeated)
      report(findings, "value_error", `${name} occurs ${count} times in the query; give it once.`, name);
  });
  // The route reads these parameters itself.
  const filters = Object.hasOwn(properties, "metadata") ? /^metadata\[.*\]$/s : null;
  nameIgnored(reply, filters === null ? ignored : ignored.filter((name) => !filters.test(name)));
  return value;
}

/** Converts a query text to a number if the schema requires a number and the text is written as JSON writes numbers. */
function valueOf(given: unknown, type: SchemaNode["type"]): unknown {
  if (type !== "integer" && type !== "number") return given;
  return typeof given === "string" && /^-?\d+(\.\d+)?([eE][+-]?\d+)?$/.test(given) ? Number(given) : given;
}

/** Reads a parsed body like {@link readForm}, and reports ignored fields to the client. */
export function readBody<Schema extends ObjectSchema>(
  form: BodyForm<Schema>,
  request: FastifyRequest,
  reply: FastifyReply,
): ValueOf<Schema> {
  const { value, ignored } = readForm(form, request.body);
  nameIgnored(reply, ignored);
  return value;
}

// Reads what a request brings, its query and its parsed body, and names to the client the fields that nothing read.
import type { FastifyReply, FastifyRequest } from "fastify";
import { report } from "../../../base/validation/findings.ts";
import type { SchemaNode } from "../../../base/validation/schema.ts";
import { checked, type ObjectSchema, type ValueOf, readForm, type BodyForm } from "../../wire/body.ts";

/** Headers have little room; a client with more unknown fields than this learns of the first ones. */
const nameCountMax = 32;

/** Sets the header `x-hone-ignored` when there is something to name; what does not belong in a header is replaced by `?`. */
export function nameIgnored(reply: FastifyReply, names: readonly string[]): void {
  if (names.length === 0) return;
  const safe = names.slice(0, nameCountMax).map((name) => name.slice(0, 80).replaceAll(/[^\w.*-]/g, "?"));
  if (names.length > nameCountMax) safe.push("...");
  reply.header("x-hone-ignored", safe.join(", "));
}

/**
 * Reads the query, and names to the client the fields that nothing reads. Texts that spell a number become one where the
 * schema wants one, and a field that comes once is a list where the schema wants that.
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
      report(findings, "value_error", `${name} stands ${count} times in the query; give it once.`, name);
  });
  nameIgnored(reply, ignored);
  return value;
}

/** A text that spells a number as JSON does is one. */
function valueOf(given: unknown, type: SchemaNode["type"]): unknown {
  if (type !== "integer" && type !== "number") return given;
  return typeof given === "string" && /^-?\d+(\.\d+)?([eE][+-]?\d+)?$/.test(given) ? Number(given) : given;
}

/** As {@link readForm}, of a request's body that was parsed; names to the client the fields that nothing reads. */
export function readBody<Schema extends ObjectSchema>(
  form: BodyForm<Schema>,
  request: FastifyRequest,
  reply: FastifyReply,
): ValueOf<Schema> {
  const { value, ignored } = readForm(form, request.body);
  nameIgnored(reply, ignored);
  return value;
}

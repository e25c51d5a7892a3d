// Reads a query string against a schema: texts that spell a number become one where the schema wants one, and a field that
// comes once is a list where the schema wants that.
import type { FastifyReply, FastifyRequest } from "fastify";
import { nameIgnored } from "./ignored-fields.ts";
import { report } from "../../../base/validation/findings.ts";
import type { SchemaNode } from "../../../base/validation/schema.ts";
import { checked, type ObjectSchema, type ValueOf } from "../../wire/checked.ts";

/**
 * Reads the query, and names to the client the fields that nothing reads.
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

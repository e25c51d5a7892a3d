// Reads a query string against a schema: texts that spell a number become one where the schema wants one, and a field that
// comes once is a list where the schema wants that.
import type { FastifyReply, FastifyRequest } from "fastify";
import { nameIgnored } from "./ignored-fields.ts";
import type { SchemaNode } from "../../validation/schema.ts";
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
  const values = Object.entries(request.query as Readonly<Record<string, unknown>>).map(([name, text]) => {
    return [name, Object.hasOwn(properties, name) ? valueOf(text, properties[name]?.type) : text] as const;
  });
  const { value, ignored } = checked(schema, Object.fromEntries(values), "query");
  nameIgnored(reply, ignored);
  return value;
}

function valueOf(given: unknown, type: SchemaNode["type"]): unknown {
  if (type === "array") return Array.isArray(given) ? given : [given];
  if (typeof given !== "string") return given;
  const isNumber =
    (type === "integer" && /^-?\d+$/.test(given)) ||
    (type === "number" && /^-?\d+(\.\d+)?([eE][+-]?\d+)?$/.test(given));
  return isNumber ? Number(given) : given;
}

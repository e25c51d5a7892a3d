// Reads a query string against a schema: texts that spell an integer become one where the schema wants one.
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
    const isInteger = Object.hasOwn(properties, name) && properties[name]?.type === "integer";
    const reads = isInteger && typeof text === "string" && /^-?\d+$/.test(text);
    return [name, reads ? Number(text) : text] as const;
  });
  const { value, ignored } = checked(schema, Object.fromEntries(values), "query");
  nameIgnored(reply, ignored);
  return value;
}

// Reads a query string against a schema: texts that spell an integer become one where the schema wants one.
import type { Static, TObject } from "typebox";
import { checked, type SchemaNode } from "./validation.ts";

/** @throws ServiceError `invalid` with every fault, located under `query` */
export function readQuery<Schema extends TObject>(
  schema: Schema,
  query: unknown,
): { readonly value: Static<Schema>; readonly ignored: readonly string[] } {
  const properties = schema.properties as Readonly<Record<string, SchemaNode>>;
  const values = Object.entries(query as Readonly<Record<string, unknown>>).map(([name, text]) => {
    const isInteger = Object.hasOwn(properties, name) && properties[name]?.type === "integer";
    const reads = isInteger && typeof text === "string" && /^-?\d+$/.test(text);
    return [name, reads ? Number(text) : text] as const;
  });
  return checked(schema, Object.fromEntries(values), "query");
}

// Schemas of fields that may be null. The argument `about` adds documentation: a `description`, a `default`,
// `examples`.
import { Type, type TSchema, type TSchemaOptions } from "typebox";

/** Returns the schema of a request field that may be absent or null, with the same meaning. */
export function nullable<Schema extends TSchema>(schema: Schema, about: TSchemaOptions = {}) {
  return Type.Optional(orNull(schema, about));
}

/** Returns the schema of an answer field that is always present and may be null. */
export function orNull<Schema extends TSchema>(schema: Schema, about: TSchemaOptions = {}) {
  return Type.Union([schema, Type.Null()], about);
}

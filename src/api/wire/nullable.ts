// Schemas of nullable fields, with documentation: a `description`, a `default`, `examples`.
import { Type, type TSchema, type TSchemaOptions } from "typebox";

/** Returns a request field that may be absent or null, with the same meaning. */
export function nullable<Schema extends TSchema>(schema: Schema, about: TSchemaOptions = {}) {
  return Type.Optional(orNull(schema, about));
}

/** Returns an answer field that is always present. */
export function orNull<Schema extends TSchema>(schema: Schema, about: TSchemaOptions = {}) {
  return Type.Union([schema, Type.Null()], about);
}

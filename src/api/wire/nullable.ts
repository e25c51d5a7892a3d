// Fields that may be null, with what documents them: a `description`, a `default`, `examples`.
import { Type, type TSchema, type TSchemaOptions } from "typebox";

/** A field of a request that may be absent or null; the two mean the same. */
export function nullable<Schema extends TSchema>(schema: Schema, about: TSchemaOptions = {}) {
  return Type.Optional(orNull(schema, about));
}

/** A field of an answer that is always there. */
export function orNull<Schema extends TSchema>(schema: Schema, about: TSchemaOptions = {}) {
  return Type.Union([schema, Type.Null()], about);
}

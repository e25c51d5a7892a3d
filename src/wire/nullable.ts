// A field that may be absent or null; the two mean the same.
import { Type, type TSchema } from "typebox";

export function nullable<Schema extends TSchema>(schema: Schema) {
  return Type.Optional(Type.Union([schema, Type.Null()]));
}

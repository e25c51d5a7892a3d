// The one error body, as a schema for the documentation.
import { Type } from "typebox";

const fault = Type.Object({ loc: Type.Array(Type.String()), msg: Type.String(), type: Type.String() });

export const errorSchema = Type.Object(
  {
    detail: Type.Array(fault),
    error: Type.Object({
      message: Type.String(),
      type: Type.String(),
      param: Type.Union([Type.String(), Type.Null()]),
      code: Type.String(),
    }),
  },
  { description: "Every error, of every route." },
);

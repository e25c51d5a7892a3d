// The one error body, as a schema that documents it.
import { Type } from "typebox";
import { orNull } from "./nullable.ts";

const fault = Type.Object({
  loc: Type.Array(Type.String(), {
    description: "Where it was sent: body, path, query or header, then names and indices.",
  }),
  msg: Type.String({ description: "What was wrong, the value, the limit, the cure." }),
  type: Type.String({ description: "Which kind of fault, such as `missing`." }),
});

export const errorSchema = Type.Object(
  {
    detail: Type.Array(fault, { description: "Every fault, at most 100 of them and the count of the rest." }),
    error: Type.Object({
      message: Type.String({ description: "All of it in words." }),
      type: Type.String({ description: "Such as `invalid_request_error`." }),
      param: orNull(Type.String(), { description: "The first field at fault, as a dotted name." }),
      code: Type.String({ description: "Such as `invalid`, `unsupported`, `not_found`, `overloaded`." }),
    }),
    type: Type.Optional(
      Type.Enum(["error"], {
        description: "Of Anthropic's routes, and with the header `anthropic-version`.",
      }),
    ),
    request_id: Type.Optional(Type.String({ description: "The same." })),
  },
  { title: "Error", description: "Every error, of every route." },
);

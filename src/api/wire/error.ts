// Schema that documents the common error body.
import { Type } from "typebox";
import { orNull } from "./nullable.ts";

const fault = Type.Object({
  loc: Type.Array(Type.String(), {
    description: "Path of the fault: body, path, query or header, then names and indices.",
  }),
  msg: Type.String({ description: "The fault, the value, the limit, and the cure." }),
  type: Type.String({ description: "Kind of the fault, such as `missing`." }),
});

export const errorSchema = Type.Object(
  {
    detail: Type.Array(fault, { description: "All faults; at most 100, then the count of the rest." }),
    error: Type.Object({
      message: Type.String({ description: "All faults as one text." }),
      type: Type.String({ description: "Error type, such as `invalid_request_error`." }),
      param: orNull(Type.String(), { description: "The first faulty field, as a dotted name." }),
      code: Type.String({
        description: "Error code, such as `invalid`, `unsupported`, `not_found` or `overloaded`.",
      }),
    }),
    type: Type.Optional(
      Type.Enum(["error"], {
        description: "On Anthropic's routes, and with the header `anthropic-version`.",
      }),
    ),
    request_id: Type.Optional(Type.String({ description: "The same as the header `x-request-id`." })),
  },
  { title: "Error", description: "Body of every error on every route." },
);

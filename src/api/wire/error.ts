// Schema that documents the error body of all routes.
import { Type } from "typebox";
import { orNull } from "./nullable.ts";

const fault = Type.Object({
  loc: Type.Array(Type.String(), {
    description: "Location of the fault: body, path, query or header, followed by names and indices.",
  }),
  msg: Type.String({
    description: "Description of the fault: the value, the limit, and how to correct the request.",
  }),
  type: Type.String({ description: "Type of the fault, such as `missing`." }),
});

export const errorSchema = Type.Object(
  {
    detail: Type.Array(fault, {
      description:
        "All faults of the request. If there are more than 100, the last entry has the number of the others.",
    }),
    error: Type.Object({
      message: Type.String({ description: "Description of all faults, as one string." }),
      type: Type.String({ description: "Error type, such as `invalid_request_error`." }),
      param: orNull(Type.String(), {
        description: "First field with a fault, as a dotted path; null if the fault is not about a field.",
      }),
      code: Type.String({
        description: "Error code, such as `invalid`, `unsupported`, `not_found` or `overloaded`.",
      }),
    }),
    type: Type.Optional(
      Type.Enum(["error"], {
        description: "Present on Anthropic's routes, and for requests with the header `anthropic-version`.",
      }),
    ),
    request_id: Type.Optional(Type.String({ description: "The same as the header `x-request-id`." })),
  },
  { title: "Error", description: "Body of every error on every route." },
);

// JSON bodies with which older clients request a forward pass or a gradient.
import { Type } from "typebox";
import type { BodyForm } from "../body.ts";
import { nullable } from "../nullable.ts";
import { report } from "../../../base/validation/findings.ts";
import { modelIdField, seqIdField } from "./model-bodies.ts";
import { typeField } from "./session-bodies.ts";

const tensorSchema = Type.Object({
  data: Type.Array(Type.Number(), { description: "Values, row by row." }),
  dtype: Type.Optional(Type.Enum(["float32", "int64"], { description: "Number type of the values." })),
  shape: nullable(Type.Array(Type.Integer({ minimum: 0 })), { description: "Dimensions." }),
  sparse_crow_indices: nullable(Type.Array(Type.Integer()), { description: "Not supported." }),
  sparse_col_indices: nullable(Type.Array(Type.Integer()), { description: "Not supported." }),
});
const datumSchema = Type.Object({
  model_input: Type.Object(
    {
      chunks: Type.Array(
        Type.Object({
          type: Type.Optional(Type.String({ description: "Only `encoded_text` is supported." })),
          tokens: Type.Optional(Type.Array(Type.Integer(), { description: "Token ids." })),
        }),
        { description: "Parts of the sequence, in order." },
      ),
    },
    { description: "Sequence of tokens." },
  ),
  loss_fn_inputs: Type.Object(
    {},
    {
      additionalProperties: tensorSchema,
      description:
        "Inputs of the loss by name, such as `target_tokens` and `weights`, with a value for each token.",
    },
  ),
});
const inputSchema = nullable(
  Type.Object({
    data: Type.Array(datumSchema, { description: "Sequences." }),
    loss_fn: Type.String({ description: "Name of the loss." }),
    loss_fn_config: nullable(
      Type.Object({}, { additionalProperties: Type.Union([Type.Number(), Type.String()]) }),
      { description: "Options of the loss." },
    ),
  }),
  { description: "Sequences and their loss. A request has one of these two fields." },
);

const computeSchema = Type.Object(
  {
    model_id: modelIdField,
    seq_id: seqIdField,
    forward_input: inputSchema,
    forward_backward_input: inputSchema,
    type: typeField,
  },
  { title: "TinkerForwardBackward" },
);
export const computeForm: BodyForm<typeof computeSchema> = {
  schema: computeSchema,
  more: ({ forward_input: forward, forward_backward_input: both }, findings) => {
    if ((forward ?? both ?? null) === null)
      report(findings, "missing", "Field required", "forward_backward_input");
  },
};

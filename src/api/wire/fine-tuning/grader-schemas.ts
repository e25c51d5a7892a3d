// API format of graders, by type.
import { Type, type TSchema } from "typebox";
import { embeddingMetric, type Grader, similarityMetrics } from "../../../base/domain/fine-tuning/grader.ts";
import { nullable } from "../nullable.ts";

const open = { additionalProperties: true };
// Optional, since OpenAI's documentation contains multi-graders without a name.
const name = nullable(Type.String({ minLength: 1, maxLength: 256 }));
const template = Type.String({ maxLength: 100_000 });
const model = Type.String({ minLength: 1, maxLength: 1024 });
const input = Type.Array(
  Type.Object({ role: Type.Enum(["user", "assistant", "system", "developer"]) }, open),
  { minItems: 1, maxItems: 256 },
);

export const graderSchemas: { readonly [Type in Grader["type"]]: TSchema } = {
  string_check: Type.Object({
    name,
    input: template,
    reference: template,
    operation: Type.Enum(["eq", "ne", "like", "ilike"]),
  }),
  text_similarity: Type.Object({
    name,
    input: template,
    reference: template,
    evaluation_metric: Type.Enum([...similarityMetrics, embeddingMetric]),
  }),
  score_model: Type.Object({
    name,
    model,
    input,
    range: nullable(Type.Array(Type.Number(), { minItems: 2, maxItems: 2 })),
    sampling_params: nullable(
      Type.Object({
        temperature: nullable(Type.Number({ minimum: 0 })),
        top_p: nullable(Type.Number({ exclusiveMinimum: 0, maximum: 1 })),
        seed: nullable(Type.Integer()),
        max_completions_tokens: nullable(Type.Integer({ minimum: 1 })),
        reasoning_effort: nullable(Type.String()),
      }),
    ),
  }),
  label_model: Type.Object({
    name,
    model,
    input,
    labels: Type.Array(Type.String({ minLength: 1, maxLength: 256 }), { minItems: 1, maxItems: 256 }),
    passing_labels: Type.Array(Type.String(), { minItems: 1, maxItems: 256 }),
  }),
  multi: Type.Object({
    name,
    graders: Type.Object({}, open),
    calculate_output: Type.String({ minLength: 1 }),
  }),
};

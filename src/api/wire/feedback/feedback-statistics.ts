// API format of statistics over feedback.
import { Type } from "typebox";
import type { QueryLimits } from "../../../base/domain/feedback-query/query-limits.ts";
import type { FeedbackStatistics } from "../../../judge/feedback/reading/feedback-statistics.ts";
import type { NumberSummary } from "../../../judge/feedback/reading/number-summary.ts";
import { type PathStatistics, valueKinds } from "../../../judge/feedback/reading/path-statistics.ts";
import { newFindings } from "../../../base/validation/findings.ts";
import type { BodyForm } from "../body.ts";
import { answerOf } from "../fields/resource.ts";
import { orNull } from "../nullable.ts";
import { expressionSchema, readMember } from "./feedback-queries.ts";

export const feedbackStatisticsRequestSchema = Type.Object(
  {
    project_id: Type.String({ description: "Project, as `<entity>/<project>`." }),
    query: expressionSchema(
      "Condition on the records to include, as in `/feedback/query`. All records by default.",
    ),
  },
  { title: "FeedbackStatsReq" },
);

export function feedbackStatisticsForm(
  limits: QueryLimits,
): BodyForm<typeof feedbackStatisticsRequestSchema> {
  return {
    schema: feedbackStatisticsRequestSchema,
    more: ({ query }, findings) => void readMember(query, findings, limits),
    moreUnserved: ({ query }) => readMember(query, newFindings("body"), limits).refusals,
  };
}

const count = (description: string) => Type.Integer({ minimum: 0, description });

const numbersAnswer = answerOf<NumberSummary>()("FeedbackNumbers", {
  count: count("Number of records with a number at this path."),
  mean: Type.Number(),
  standard_deviation: orNull(Type.Number(), {
    description: "Sample standard deviation; null for a single number.",
  }),
  min: Type.Number(),
  max: Type.Number(),
  p50: [
    orNull(Type.Number(), {
      description:
        "Median, interpolated linearly between the two nearest values, as in NumPy. Null, like `p95` and `histogram`, if there are more numbers than the server keeps in memory.",
    }),
    ({ spread }) => spread?.p50 ?? null,
  ],
  p95: [
    orNull(Type.Number(), { description: "95th percentile, interpolated as for `p50`." }),
    ({ spread }) => spread?.p95 ?? null,
  ],
  histogram: [
    orNull(Type.Array(Type.Integer({ minimum: 0 })), {
      description:
        "Number of values in each of 20 intervals of equal width from `min` to `max`. The last interval includes `max`.",
    }),
    ({ spread }) => spread?.histogram ?? null,
  ],
});

const pathAnswer = answerOf<PathStatistics>()("FeedbackPathStats", {
  path: [
    Type.String({ description: "Path in the record, as in `/feedback/query`.", examples: ["payload.stars"] }),
    ({ path }) => `payload.${path}`,
  ],
  count: count("Number of records with a value at this path."),
  kinds: Type.Object(
    Object.fromEntries(valueKinds.map((kind) => [kind, Type.Optional(Type.Integer({ minimum: 1 }))])),
    { description: "Number of values of each JSON type." },
  ),
  numbers: [
    orNull(numbersAnswer.schema, {
      description: "Statistics of the values that are numbers; null if no value is a number.",
    }),
    ({ numbers }) => numbers && numbersAnswer.body(numbers),
  ],
  values: orNull(
    Type.Array(
      Type.Object({
        value: Type.Union([Type.String(), Type.Number(), Type.Boolean()]),
        count: Type.Integer({ minimum: 1 }),
      }),
    ),
    {
      description:
        "Count of each distinct value, most frequent first. Null if there are more than 50 distinct values, or strings of more than 200 characters.",
    },
  ),
});

const typeAnswer = answerOf<FeedbackStatistics["types"][number]>()("FeedbackTypeStats", {
  feedback_type: Type.String(),
  count: [
    count("Number of all matching records of this type, not only of those in the sample."),
    ({ totalCount }) => totalCount,
  ],
  sample_count: [count("Number of records of this type in the sample."), (type) => type.count],
  paths: [
    Type.Array(pathAnswer.schema, {
      description: "Paths in the payloads of the sampled records, most frequent first.",
    }),
    ({ paths }) => paths.map(pathAnswer.body),
  ],
  other_values: [
    count(
      "Number of values that are not reported because there are more than 100 paths, or because their paths are too long.",
    ),
    ({ otherCount }) => otherCount,
  ],
});

export const feedbackStatisticsAnswer = answerOf<FeedbackStatistics>()("FeedbackStats", {
  total_count: count("Number of all records that match, not only of those in the sample."),
  sample: [
    Type.Object(
      {
        share: Type.Number({
          description: "Fraction of the matching records that the sample contains; 1 if all were read.",
        }),
        count: count("Number of records in the sample."),
        rule: Type.String({ description: "Sentence that says how the sample was chosen." }),
      },
      {
        description:
          "Sample of the matching records, from which the statistics in `paths` are computed. To estimate a count over all matching records, divide the count in the sample by `share`.",
      },
    ),
    ({ share, sampleCount }) => ({ share, count: sampleCount, rule: ruleOf(share) }),
  ],
  types: [
    Type.Array(typeAnswer.schema, {
      description: "The 100 most frequent feedback types, most frequent first.",
    }),
    ({ types }) => types.map(typeAnswer.body),
  ],
  other_types: [
    count("Number of records whose feedback type is not among the types in `types`."),
    ({ otherTypesCount }) => otherTypesCount,
  ],
});

function ruleOf(share: number): string {
  if (share === 1) return "Every record was read.";
  const part = Number((1 / share).toPrecision(3));
  return `There is more than is read at once: one record of ${part} was read, chosen by its number in the order of storing, evenly over all of them and the same ones each time.`;
}

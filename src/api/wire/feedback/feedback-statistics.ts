// Statistics on feedback in the API.
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
    project_id: Type.String({ description: "`<entity>/<project>`." }),
    query: expressionSchema("Records to include, as in queries; all by default."),
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
  count: count("Records with a number at this path."),
  mean: Type.Number(),
  standard_deviation: orNull(Type.Number(), {
    description: "Sample standard deviation; null for a single number.",
  }),
  min: Type.Number(),
  max: Type.Number(),
  p50: [
    orNull(Type.Number(), {
      description:
        "Interpolated linearly between the two nearest values, as in NumPy. Null, like `p95` and `histogram`, if there were more numbers than the server keeps.",
    }),
    ({ spread }) => spread?.p50 ?? null,
  ],
  p95: [orNull(Type.Number()), ({ spread }) => spread?.p95 ?? null],
  histogram: [
    orNull(Type.Array(Type.Integer({ minimum: 0 })), {
      description: "Counts in twenty equal parts of the range; the last part includes `max`.",
    }),
    ({ spread }) => spread?.histogram ?? null,
  ],
});

const pathAnswer = answerOf<PathStatistics>()("FeedbackPathStats", {
  path: [
    Type.String({ description: "Path, as in queries.", examples: ["payload.stars"] }),
    ({ path }) => `payload.${path}`,
  ],
  count: count("Records with a value at this path."),
  kinds: Type.Object(
    Object.fromEntries(valueKinds.map((kind) => [kind, Type.Optional(Type.Integer({ minimum: 1 }))])),
    { description: "Number of values of each type." },
  ),
  numbers: [
    orNull(numbersAnswer.schema, { description: "Null if no value is a number." }),
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
        "Count of each value, most frequent first; null if there are more than 50 values, or texts of more than 200 characters.",
    },
  ),
});

const typeAnswer = answerOf<FeedbackStatistics["types"][number]>()("FeedbackTypeStats", {
  feedback_type: Type.String(),
  count: [count("Exact count of records of the type."), ({ totalCount }) => totalCount],
  sample_count: [count("Records of the type that were read."), (type) => type.count],
  paths: [
    Type.Array(pathAnswer.schema, { description: "Paths of their payloads, most frequent first." }),
    ({ paths }) => paths.map(pathAnswer.body),
  ],
  other_values: [
    count("Values that are not reported, because there are more than 100 paths or the paths are too long."),
    ({ otherCount }) => otherCount,
  ],
});

export const feedbackStatisticsAnswer = answerOf<FeedbackStatistics>()("FeedbackStats", {
  total_count: count("Exact count of records."),
  sample: [
    Type.Object(
      {
        share: Type.Number({ description: "Share of the records that was read; 1 if all were read." }),
        count: count("Records that were read."),
        rule: Type.String({ description: "How the records were chosen, for people." }),
      },
      {
        description:
          "The sample that `paths` describe. Divide a count in the sample by `share` to estimate the count over all records.",
      },
    ),
    ({ share, sampleCount }) => ({ share, count: sampleCount, rule: ruleOf(share) }),
  ],
  types: [
    Type.Array(typeAnswer.schema, { description: "The hundred most frequent types, most frequent first." }),
    ({ types }) => types.map(typeAnswer.body),
  ],
  other_types: [count("Records of types that are not listed."), ({ otherTypesCount }) => otherTypesCount],
});

function ruleOf(share: number): string {
  if (share === 1) return "Every record was read.";
  const part = Number((1 / share).toPrecision(3));
  return `There is more than is read at once: one record of ${part} was read, chosen by its number in the order of storing, evenly over all of them and the same ones each time.`;
}

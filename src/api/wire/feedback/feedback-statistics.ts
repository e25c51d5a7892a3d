// Statistics over feedback on the wire.
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
    query: expressionSchema("Over which records: as queries have it; all unless given."),
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
  count: count("Records that have a number there."),
  mean: Type.Number(),
  standard_deviation: orNull(Type.Number(), { description: "Of a sample; null of a single number." }),
  min: Type.Number(),
  max: Type.Number(),
  p50: [
    orNull(Type.Number(), {
      description:
        "Between the two nearest, in proportion, as NumPy has it; null, as `p95` and `histogram`, where there were more numbers than are kept.",
    }),
    ({ spread }) => spread?.p50 ?? null,
  ],
  p95: [orNull(Type.Number()), ({ spread }) => spread?.p95 ?? null],
  histogram: [
    orNull(Type.Array(Type.Integer({ minimum: 0 })), {
      description: "How many lie in each of twenty equal parts of the range; the last one holds `max` too.",
    }),
    ({ spread }) => spread?.histogram ?? null,
  ],
});

const pathAnswer = answerOf<PathStatistics>()("FeedbackPathStats", {
  path: [
    Type.String({ description: "As queries name it.", examples: ["payload.stars"] }),
    ({ path }) => `payload.${path}`,
  ],
  count: count("Records that have a value there."),
  kinds: Type.Object(
    Object.fromEntries(valueKinds.map((kind) => [kind, Type.Optional(Type.Integer({ minimum: 1 }))])),
    { description: "How many of them are what." },
  ),
  numbers: [
    orNull(numbersAnswer.schema, { description: "Null where none is a number." }),
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
        "How often each comes, the most frequent first; null where there are more than 50, or texts of more than 200 characters.",
    },
  ),
});

const typeAnswer = answerOf<FeedbackStatistics["types"][number]>()("FeedbackTypeStats", {
  feedback_type: Type.String(),
  count: [count("Of its records, counted."), ({ totalCount }) => totalCount],
  sample_count: [count("Of those that were read."), (type) => type.count],
  paths: [
    Type.Array(pathAnswer.schema, { description: "What their payloads hold, the most frequent first." }),
    ({ paths }) => paths.map(pathAnswer.body),
  ],
  other_values: [
    count("Values of which nothing is said, since there are more than 100 paths, or they are too long."),
    ({ otherCount }) => otherCount,
  ],
});

export const feedbackStatisticsAnswer = answerOf<FeedbackStatistics>()("FeedbackStats", {
  total_count: count("Of the records, counted."),
  sample: [
    Type.Object(
      {
        share: Type.Number({ description: "The part of the records that was read; 1 for all." }),
        count: count("Records that were read."),
        rule: Type.String({ description: "Which, in words." }),
      },
      {
        description:
          "What `paths` are about: counted in the records of the sample, so that a count of all is about so many divided by `share`.",
      },
    ),
    ({ share, sampleCount }) => ({ share, count: sampleCount, rule: ruleOf(share) }),
  ],
  types: [
    Type.Array(typeAnswer.schema, { description: "The hundred most frequent, the first of them first." }),
    ({ types }) => types.map(typeAnswer.body),
  ],
  other_types: [count("Records of further types."), ({ otherTypesCount }) => otherTypesCount],
});

function ruleOf(share: number): string {
  if (share === 1) return "Every record was read.";
  const part = Number((1 / share).toPrecision(3));
  return `There is more than is read at once: one record of ${part} was read, chosen by its number in the order of storing, evenly over all of them and the same ones each time.`;
}

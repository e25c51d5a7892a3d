// Statistics over feedback on the wire.
import { Type, type Static } from "typebox";
import type { QueryLimits } from "../../../base/domain/feedback-query/query-limits.ts";
import type { FeedbackStatistics } from "../../../judge/feedback/reading/feedback-statistics.ts";
import type { NumberSummary } from "../../../judge/feedback/reading/number-summary.ts";
import { type PathStatistics, valueKinds } from "../../../judge/feedback/reading/path-statistics.ts";
import { newFindings } from "../../../base/validation/findings.ts";
import type { BodyForm } from "../body.ts";
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

const numbersSchema = Type.Object(
  {
    count: count("Records that have a number there."),
    mean: Type.Number(),
    standard_deviation: orNull(Type.Number(), { description: "Of a sample; null of a single number." }),
    min: Type.Number(),
    max: Type.Number(),
    p50: orNull(Type.Number(), {
      description:
        "Between the two nearest, in proportion, as NumPy has it; null, as `p95` and `histogram`, where there were more numbers than are kept.",
    }),
    p95: orNull(Type.Number()),
    histogram: orNull(Type.Array(Type.Integer({ minimum: 0 })), {
      description: "How many lie in each of twenty equal parts of the range; the last one holds `max` too.",
    }),
  },
  { title: "FeedbackNumbers" },
);

const pathSchema = Type.Object(
  {
    path: Type.String({ description: "As queries name it.", examples: ["payload.stars"] }),
    count: count("Records that have a value there."),
    kinds: Type.Object(
      Object.fromEntries(valueKinds.map((kind) => [kind, Type.Optional(Type.Integer({ minimum: 1 }))])),
      { description: "How many of them are what." },
    ),
    numbers: orNull(numbersSchema, { description: "Null where none is a number." }),
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
  },
  { title: "FeedbackPathStats" },
);

export const feedbackStatisticsSchema = Type.Object(
  {
    total_count: count("Of the records, counted."),
    sample: Type.Object(
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
    types: Type.Array(
      Type.Object(
        {
          feedback_type: Type.String(),
          count: count("Of its records, counted."),
          sample_count: count("Of those that were read."),
          paths: Type.Array(pathSchema, {
            description: "What their payloads hold, the most frequent first.",
          }),
          other_values: count(
            "Values of which nothing is said, since there are more than 100 paths, or they are too long.",
          ),
        },
        { title: "FeedbackTypeStats" },
      ),
      { description: "The hundred most frequent, the first of them first." },
    ),
    other_types: count("Records of further types."),
  },
  { title: "FeedbackStats" },
);

export function feedbackStatisticsBody(
  statistics: FeedbackStatistics,
): Static<typeof feedbackStatisticsSchema> {
  const { totalCount, types, otherTypesCount, share, sampleCount } = statistics;
  return {
    total_count: totalCount,
    sample: { share, count: sampleCount, rule: ruleOf(share) },
    types: types.map((type) => ({
      feedback_type: type.feedbackType,
      count: type.totalCount,
      sample_count: type.count,
      paths: type.paths.map(pathBody),
      other_values: type.otherCount,
    })),
    other_types: otherTypesCount,
  };
}

function ruleOf(share: number): string {
  if (share === 1) return "Every record was read.";
  const part = Number((1 / share).toPrecision(3));
  return `There is more than is read at once: one record of ${part} was read, chosen by its number in the order of storing, evenly over all of them and the same ones each time.`;
}

function pathBody({ path, count: found, kinds, numbers, values }: PathStatistics) {
  return {
    path: `payload.${path}`,
    count: found,
    kinds: { ...kinds },
    numbers: numbers === null ? null : numbersBody(numbers),
    values: values === null ? null : values.map((one) => ({ ...one })),
  };
}

function numbersBody(numbers: NumberSummary): Static<typeof numbersSchema> {
  const { count: found, mean, standardDeviation, min, max, spread } = numbers;
  return {
    count: found,
    mean,
    standard_deviation: standardDeviation,
    min,
    max,
    p50: spread?.p50 ?? null,
    p95: spread?.p95 ?? null,
    histogram: spread === null ? null : [...spread.histogram],
  };
}

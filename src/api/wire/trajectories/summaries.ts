// Summaries of stored trajectories in the API: a request's filter, and the list that an answer contains.
import { Type, type Static } from "typebox";
import type { Cost } from "../../../base/domain/costs/prices.ts";
import { type Fault, ServiceError } from "../../../base/domain/service-error.ts";
import type {
  ListedOutline,
  OutlineCount,
  OutlineFilter,
} from "../../../base/domain/summaries/trajectory-outline.ts";
import { costRows } from "../costs/cost-rows.ts";
import { answerOf } from "../fields/resource.ts";
import { orNull } from "../nullable.ts";
import { pageQueryFields } from "../page.ts";
import { readWords } from "../fields/searched-text.ts";
import { readMetricCondition } from "./metric-condition.ts";
import { readMetadata, readTime, stepField, trajectoryFields } from "./row-query.ts";
import type { RowFilter } from "./rows.ts";

const sources = ["log", "job"] as const;

export const outlineQuerySchema = Type.Object({
  ...pageQueryFields,
  source: Type.Optional(
    Type.Enum([...sources], {
      description: "`log`: only logged trajectories. `job`: only trajectories sent to training jobs.",
    }),
  ),
  ...trajectoryFields,
  metric: Type.Optional(
    Type.Array(Type.String({ maxLength: 300 }), {
      maxItems: 8,
      description:
        "Conditions on metrics, such as `speed>=0.5`, with one of `<`, `<=`, `=`, `>=` and `>`; a trajectory must match all of them. A boolean metric is 1 or 0. Only the first twelve metrics of a trajectory are compared. These are the metrics that its summary has.",
    }),
  ),
});

export const outlineCountQuerySchema = Type.Object({ step: Type.Optional(stepField) });

/**
 * Returns the filter on summaries that a query describes, and the words and metadata to search for.
 *
 * @throws ServiceError `invalid` for an invalid time or condition
 */
export function outlineFilter(
  query: Static<typeof outlineQuerySchema>,
): OutlineFilter & Pick<RowFilter, "words" | "metadata"> {
  const faults: Fault[] = [];
  const filter = {
    source: query.source ?? null,
    split: query.split ?? null,
    step: query.step ?? null,
    rewardMin: query.reward_min ?? null,
    rewardMax: query.reward_max ?? null,
    metrics: (query.metric ?? []).flatMap((text) => readMetricCondition(text, faults) ?? []),
    recordedFrom: readTime(query, "recorded_from", faults),
    recordedBefore: readTime(query, "recorded_before", faults),
    words: readWords(query, faults),
    metadata: readMetadata(query, faults),
  };
  if (faults.length > 0) throw new ServiceError({ code: "invalid", faults });
  return filter;
}

export const outlineAnswer = answerOf<ListedOutline & Cost>()("TrajectoryOutline", {
  id: [
    Type.String({
      description:
        "Number of the trajectory in its model, counted from 1 in the order in which trajectories were stored.",
      examples: ["42"],
    }),
    ({ number }) => String(number),
  ],
  source: Type.Enum([...sources]),
  source_id: Type.String({
    format: "uuid",
    description: "Id of the log or training job that contained the trajectory.",
  }),
  split: Type.String(),
  step: orNull(Type.Integer({ minimum: 0 }), {
    description: "Version of the model that the log belongs to; null for trajectories of a job.",
  }),
  recorded_at: Type.String({
    format: "date-time",
    description: "Time at which the server stored the trajectory.",
  }),
  group_index: Type.Integer({
    minimum: 0,
    description: "Index of the trajectory's group in the log or job.",
  }),
  index: Type.Integer({ minimum: 0, description: "Index of the trajectory in its group." }),
  reward: Type.Number(),
  metrics: Type.Object(
    {},
    {
      additionalProperties: Type.Union([Type.Number({ title: "float" }), Type.Boolean({ title: "bool" })]),
      description: "The first twelve metrics of the trajectory.",
    },
  ),
  reply_count: Type.Integer({ minimum: 0, description: "Number of answers of the model in the trajectory." }),
  token_count: Type.Integer({
    minimum: 0,
    description:
      "Number of tokens of the model's answers in the trajectory; answers without token ids are not counted.",
  }),
  ...costRows(
    "the prompts and answers in the trajectory, which is known only if all of them have token ids. No prompt token counts as cached",
  ),
  has_logprobs: Type.Boolean({ description: "True if the answers have log-probabilities." }),
  prompt: Type.String({ description: "Beginning of the first user message." }),
  answer: Type.String({ description: "Beginning of the last answer." }),
});

const countAnswer = answerOf<OutlineCount>()("TrajectoryCount", {
  source: Type.Enum([...sources]),
  split: Type.String(),
  count: Type.Integer({ minimum: 1, description: "Number of trajectories." }),
  mean_reward: Type.Number(),
});

export const outlineCountsAnswer = answerOf<{ readonly counts: readonly OutlineCount[] }>()(null, {
  object: [Type.Enum(["list"]), () => "list" as const],
  data: [
    Type.Array(countAnswer.schema, {
      description: "One entry for each source and split, the largest count first; at most 100 entries.",
    }),
    ({ counts }) => counts.map(countAnswer.body),
  ],
});

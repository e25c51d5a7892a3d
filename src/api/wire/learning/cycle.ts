// API format of learning cycles: the feedback that a model learned from, the evaluation, and the decision.
import { Type } from "typebox";
import {
  cycleStages,
  type Evaluation,
  type LearnedFrom,
  type LearningCycle,
  type RatedAnswers,
  type VersionScore,
} from "../../../base/domain/learning/learning-cycle.ts";
import { learningSignals } from "../../../base/domain/learning/learning-order.ts";
import { answerOf } from "../fields/resource.ts";
import { orNull } from "../nullable.ts";

const dateTime = Type.String({ format: "date-time" });
const version = Type.Integer({ minimum: 0 });
const count = Type.Integer({ minimum: 0 });

const learnedAnswer = answerOf<LearnedFrom>()("LearnedFrom", {
  kind: Type.Enum([...learningSignals]),
  owner: Type.String({ description: "Owner of the key that wrote the feedback." }),
  creator: orNull(Type.String(), {
    description:
      "Person that the feedback names as its author; for a next message, the owner of the key that sent it.",
  }),
  count: Type.Integer({ minimum: 1, description: "Number of feedback records." }),
});

const scoreAnswer = answerOf<VersionScore>()("VersionScore", {
  score: Type.Number({
    description: "Mean reward by the judge, or mean log-probability per token of the wanted answers.",
  }),
  unwanted: orNull(Type.Number(), {
    description:
      "Mean log-probability per token of the unwanted answers; null with a judge or without such answers.",
  }),
});

const evaluationAnswer = answerOf<Evaluation>()("LearningEvaluation", {
  method: Type.Enum(["judge", "logprobs"]),
  prompts: [count, ({ promptCount }) => promptCount],
  candidate: [scoreAnswer.schema, ({ candidate }) => scoreAnswer.body(candidate)],
  current: [scoreAnswer.schema, ({ current }) => scoreAnswer.body(current)],
});

const ratedAnswer = answerOf<RatedAnswers>()("RatedAnswers", {
  count,
  mean: orNull(Type.Number(), { description: "Mean reward; null without rated answers." }),
});

export const cycleAnswer = answerOf<LearningCycle>()("LearningCycle", {
  id: Type.String({ format: "uuid" }),
  model_id: Type.String({ format: "uuid" }),
  job_id: Type.String({ format: "uuid", description: "Training job that makes the candidate version." }),
  stage: Type.Enum([...cycleStages], {
    description:
      "First `training`, then `evaluating`. A refused candidate ends as `refused`. A promoted one is `watching` while its ratings can cause a rollback, and ends as `promoted` or `rolled_back`. `failed`: the job made no version.",
  }),
  learned: [
    Type.Array(learnedAnswer.schema, { description: "Signals that the job trained on, by kind and person." }),
    ({ learned }) => learned.map(learnedAnswer.body),
  ],
  held_out_prompts: [count, ({ heldOut }) => heldOut.length],
  margin: [Type.Number({ description: "The setting `margin` of this cycle." }), ({ order }) => order.margin],
  current_version: [
    orNull(version, {
      description: "Version from which the candidate was trained; null before the job's end.",
    }),
    ({ baseStep }) => baseStep,
  ],
  candidate_version: [
    orNull(version, { description: "Version that the job made; null before the job's end." }),
    ({ candidateStep }) => candidateStep,
  ],
  evaluation: [
    orNull(evaluationAnswer.schema, {
      description: "Scores of the candidate and of the current version; null before the evaluation.",
    }),
    ({ evaluation }) => evaluation && evaluationAnswer.body(evaluation),
  ],
  reason: orNull(Type.String(), {
    description: "Sentence that explains the decision on the candidate; null before the decision.",
  }),
  waiting_for: orNull(Type.String(), {
    description: "Sentence that says why the evaluation cannot run now; null if it can.",
  }),
  rated_before: [
    orNull(ratedAnswer.schema, {
      description: "Ratings of the earlier version's answers, as of the promotion.",
    }),
    ({ ratedBefore }) => ratedBefore && ratedAnswer.body(ratedBefore),
  ],
  rated_after: [
    orNull(ratedAnswer.schema, { description: "Ratings of the promoted version's answers." }),
    ({ ratedAfter }) => ratedAfter && ratedAnswer.body(ratedAfter),
  ],
  created_at: dateTime,
  promoted_at: orNull(dateTime),
  ended_at: orNull(dateTime),
});

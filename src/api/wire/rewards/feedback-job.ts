// API format of training jobs made from feedback: the request, the training data found, and the answers left out.
import { Type } from "typebox";
import { flag, integer, orNull as orNullField, time } from "../../../base/domain/resources/fields.ts";
import type { FeedbackOutcome, RewardedAnswer } from "../../../base/domain/rewards/feedback-outcome.ts";
import { jobGroupsMax } from "../../../base/domain/rewards/stored-rule.ts";
import type { Cost } from "../../../base/domain/costs/prices.ts";
import { report } from "../../../base/validation/findings.ts";
import { answerOf, creationRows, creation, readBy, type ReadValues } from "../fields/resource.ts";
import { costRows } from "../costs/cost-rows.ts";
import { nullable, orNull } from "../nullable.ts";
import { checkTrainingConfig } from "../training/training-config.ts";
import { checkRewardTerms, rewardTermsSchema, toRewardRule } from "./reward-terms.ts";
import { experimentalConfigField, feedbackSelectionFields } from "./automatic-rule.ts";

/** Fields of every request that creates a job from feedback. */
export const feedbackRequestFields = {
  model_id: Type.String({
    format: "uuid",
    description: "Id of the model to train. Only feedback on this model's answers is used.",
  }),
  rule: readBy(
    nullable(Type.Object({ terms: rewardTermsSchema }), {
      description:
        "Reward rule: how the server computes an answer's reward from feedback. Give either rule or rule_id.",
    }),
    ({ terms }) => toRewardRule(terms),
    null,
  ),
  rule_id: nullable(Type.String({ format: "uuid" }), {
    description: "Id of a stored reward rule in the model's project.",
  }),
  ...feedbackSelectionFields,
  ...creationRows({
    until: orNullField(time({ about: "Uses only feedback that was given before this time." })),
    dryRun: flag({
      default: false,
      about: "True to create no job, and only report what the job would train on and leave out.",
    }),
  }),
};

export type FeedbackRequest = ReadValues<typeof feedbackRequestFields>;

export const feedbackJobForm = creation(
  "FeedbackJobCreate",
  {
    ...feedbackRequestFields,
    experimental_config: experimentalConfigField,
    ...creationRows({
      groupsMax: integer({
        minimum: 1,
        maximum: jobGroupsMax,
        default: 512,
        about:
          "Maximum number of groups (prompts) in the job. If there are more, the next job can train on the others.",
      }),
    }),
  },
  {
    more: ({ rule, rule_id: ruleId, experimental_config: config }, findings) => {
      checkTrainingConfig(config, findings);
      if (typeof rule === "object" && rule !== null && "terms" in rule)
        checkRewardTerms(rule.terms, findings, "rule", "terms");
      const given = [rule, ruleId].filter((one) => (one ?? null) !== null).length;
      if (given === 1) return;
      const message =
        given === 0
          ? "Field required: say how feedback becomes a reward here, or name a stored rule in rule_id."
          : "Value error, there are a rule here and a stored one in rule_id; give one of the two.";
      report(findings, given === 0 ? "missing" : "value_error", message, "rule");
    },
  },
);

const count = Type.Integer({ minimum: 0 });

/** Maximum number of entries in each list of an answer. */
export const shownMax = 100;

const rewardedAnswer = answerOf<RewardedAnswer>()("RewardedAnswer", {
  call: Type.String({ description: "Reference of the recorded answer." }),
  text: Type.String({ description: "Beginning of the answer's text." }),
  step: Type.Integer({ minimum: 0, description: "Version of the model that gave the answer." }),
  reward: Type.Number(),
  people: [
    Type.Integer({ minimum: 1, description: "Number of people whose feedback is averaged in the reward." }),
    ({ peopleCount }) => peopleCount,
  ],
  terms: [
    Type.Array(
      orNull(
        Type.Object({
          value: Type.Number({ description: "Value of the term." }),
          people: Type.Integer({ minimum: 0, description: "Number of people whose feedback the term read." }),
        }),
      ),
      {
        description:
          "Value of each term of the rule for this answer, in the order of the rule; null for a term without matching feedback.",
      },
    ),
    ({ terms }) => terms.map((term) => term && { value: term.value, people: term.peopleCount }),
  ],
  feedback_ids: feedbackIds(),
  use: Type.Enum(["trained", "compared"], {
    description:
      "`trained`: the job trains on the answer. `compared`: an earlier job trained on it; its reward counts in the group's mean, but the job does not train on it again.",
  }),
});

/** Returns the response field that lists the ids of the feedback used for a recorded answer. */
export function feedbackIds() {
  return [
    Type.Array(Type.String(), {
      description: "Ids of the first 100 feedback records that were used for this answer.",
    }),
    ({ feedbackIds: ids }: Pick<RewardedAnswer, "feedbackIds">) => ids.slice(0, shownMax),
  ] as const;
}

const leftOutAnswer = answerOf<FeedbackOutcome["leftOut"][number]>()("LeftOutAnswer", {
  reference: Type.String({
    description:
      "Reference of the answer that is left out. If the feedback is not on a recorded answer, this is the reference in the feedback.",
  }),
  reason: Type.String({
    description:
      "Why the answer is left out, as one of the keys of `reasons`. The value of that key explains it.",
  }),
  reward: orNull(Type.Number(), { description: "Reward of the answer; null if it was not computed." }),
  people: [
    Type.Integer({ minimum: 0, description: "Number of people who gave feedback on the answer." }),
    ({ peopleCount }) => peopleCount,
  ],
  feedback: [
    Type.Integer({ minimum: 0, description: "Number of feedback records on the answer." }),
    ({ feedbackCount }) => feedbackCount,
  ],
});

/** A job created from feedback, or for a dry run, the job that would have been created. */
export interface CreatedJob {
  /** Id of the job; null for a dry run, or if there was nothing to train on. */
  readonly id: string | null;
  readonly isDryRun: boolean;
}

/**
 * First fields of the response to a request that creates a job from feedback. Jobs with rewards and jobs with
 * preferences have them.
 */
export const createdJobRows = {
  id: orNull(Type.String({ format: "uuid" }), {
    description: "Id of the created job; null for a dry run, or if there is nothing to train on.",
  }),
  dry_run: [
    Type.Boolean({ description: "True if the request was a dry run." }),
    ({ isDryRun }: CreatedJob) => isDryRun,
  ],
} as const;

/** Fields with the cost of a job from feedback. */
export const jobCostRows = costRows("the answer tokens to train on, in all passes that the settings ask for");

/** Response field that explains why recorded model answers are left out of training. */
export const reasons = Type.Object(
  {},
  {
    additionalProperties: Type.String(),
    description: "Explanation of each `reason` that occurs in `left_out`, keyed by the reason.",
  },
);

/** Response field that lists the recorded model answers that are left out of training. */
export const leftOut = [
  Type.Array(leftOutAnswer.schema, { description: "The first 100 answers that are left out." }),
  (outcome: Pick<FeedbackOutcome, "leftOut">) => outcome.leftOut.slice(0, shownMax).map(leftOutAnswer.body),
] as const;

export const feedbackJobAnswer = answerOf<FeedbackOutcome & CreatedJob & Cost>()("FeedbackJob", {
  ...createdJobRows,
  ...jobCostRows,
  counts: [
    Type.Object({
      feedback: Type.Integer({ minimum: 0, description: "Number of feedback records that were considered." }),
      groups: Type.Integer({
        minimum: 0,
        description: "Number of groups: prompts with answers to train on.",
      }),
      answers: Type.Integer({ minimum: 0, description: "Number of answers to train on." }),
      compared: Type.Integer({
        minimum: 0,
        description:
          "Number of answers that an earlier job trained on. Their rewards count in a group's mean, but this job does not train on them again.",
      }),
      people: Type.Integer({
        minimum: 0,
        description: "Number of people whose feedback on any of the answers is used.",
      }),
      tokens: Type.Integer({
        minimum: 0,
        description: "Number of tokens of the prompts and answers to train on.",
      }),
      trained_tokens: Type.Integer({
        minimum: 0,
        description:
          "Number of tokens of the answers to train on, in one pass. An answer whose reward is the mean of its group does not count, because the job skips it.",
      }),
      left_out: Type.Object(
        {},
        { additionalProperties: count, description: "Number of answers that are left out, by reason." },
      ),
    }),
    ({ counts: { leftOut: byReason, trainedTokens, ...counts } }) => ({
      ...counts,
      trained_tokens: trainedTokens,
      left_out: byReason,
    }),
  ],
  reasons,
  groups: [
    Type.Array(
      Type.Object({
        prompt: Type.String({ description: "Beginning of the prompt." }),
        answers: Type.Array(rewardedAnswer.schema),
      }),
      { description: "The first 100 groups, each with its first 100 answers." },
    ),
    ({ groups }) =>
      groups.slice(0, shownMax).map(({ prompt, answers }) => ({
        prompt,
        answers: answers.slice(0, shownMax).map(rewardedAnswer.body),
      })),
  ],
  left_out: leftOut,
});

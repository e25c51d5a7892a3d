// Training jobs from feedback: the request, the training data, and the answers that are left out.
import { Type } from "typebox";
import { flag, integer, orNull as orNullField, time } from "../../../base/domain/resources/fields.ts";
import type { FeedbackOutcome, RewardedAnswer } from "../../../base/domain/rewards/feedback-outcome.ts";
import { jobGroupsMax } from "../../../base/domain/rewards/stored-rule.ts";
import { report } from "../../../base/validation/findings.ts";
import { answerOf, creationRows, creation, readBy, type ReadValues } from "../fields/resource.ts";
import { nullable, orNull } from "../nullable.ts";
import { checkTrainingConfig } from "../training/training-config.ts";
import { checkRewardTerms, rewardTermsSchema, toRewardRule } from "./reward-terms.ts";
import { experimentalConfigField, feedbackSelectionFields } from "./automatic-rule.ts";

/** Fields of all requests that create a job from feedback. */
export const feedbackRequestFields = {
  model_id: Type.String({
    format: "uuid",
    description: "The model to train; the feedback is on its answers.",
  }),
  rule: readBy(
    nullable(Type.Object({ terms: rewardTermsSchema }), {
      description: "How feedback becomes a reward; give this or rule_id.",
    }),
    ({ terms }) => toRewardRule(terms),
    null,
  ),
  rule_id: nullable(Type.String({ format: "uuid" }), {
    description: "Id of a reward rule in the model's project.",
  }),
  ...feedbackSelectionFields,
  ...creationRows({
    until: orNullField(time({ about: "Only feedback from before this time." })),
    dryRun: flag({
      default: false,
      about: "Reports what the job would train on and leave out, and creates no job.",
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
        about: "Most groups of the job; the rest is left for the next job.",
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

/** Maximum number of entries that each list of an answer shows. */
export const shownMax = 100;

const rewardedAnswer = answerOf<RewardedAnswer>()("RewardedAnswer", {
  call: Type.String({ description: "Reference of the answer." }),
  text: Type.String({ description: "Start of the text." }),
  step: Type.Integer({ minimum: 0, description: "Version that answered." }),
  reward: Type.Number(),
  people: [
    Type.Integer({ minimum: 1, description: "People whose feedback the reward averages." }),
    ({ peopleCount }) => peopleCount,
  ],
  terms: [
    Type.Array(orNull(Type.Object({ value: Type.Number(), people: count })), {
      description: "Value of each term of the rule; null if the term found nothing to read.",
    }),
    ({ terms }) => terms.map((term) => term && { value: term.value, people: term.peopleCount }),
  ],
  feedback_ids: feedbackIds(),
  use: Type.Enum(["trained", "compared"], {
    description:
      "`compared`: trained earlier. Its reward counts in the group's mean, and it does not train again.",
  }),
});

/** Returns the row that lists the ids of an answer's feedback. */
export function feedbackIds() {
  return [
    Type.Array(Type.String(), { description: "Feedback records that count; the first hundred." }),
    ({ feedbackIds: ids }: Pick<RewardedAnswer, "feedbackIds">) => ids.slice(0, shownMax),
  ] as const;
}

const leftOutAnswer = answerOf<FeedbackOutcome["leftOut"][number]>()("LeftOutAnswer", {
  reference: Type.String({
    description: "Reference of the answer, or the subject of the feedback if there is no answer.",
  }),
  reason: Type.String(),
  reward: orNull(Type.Number()),
  people: [count, ({ peopleCount }) => peopleCount],
  feedback: [
    Type.Integer({ minimum: 0, description: "Feedback records on it." }),
    ({ feedbackCount }) => feedbackCount,
  ],
});

/** A job created from feedback, or one that a dry run would create. */
export interface CreatedJob {
  /** Id of the job; null for a dry run, or if there was nothing to train on. */
  readonly id: string | null;
  readonly isDryRun: boolean;
}

/** First rows of the answer, for jobs with rewards and jobs with preferences. */
export const createdJobRows = {
  id: orNull(Type.String({ format: "uuid" }), {
    description: "Id of the job; null for a dry run, or if there was nothing to train on.",
  }),
  dry_run: [Type.Boolean(), ({ isDryRun }: CreatedJob) => isDryRun],
} as const;

/** Row with explanations of the reasons for leaving out answers. */
export const reasons = Type.Object(
  {},
  { additionalProperties: Type.String(), description: "Explanation of each reason that occurs." },
);

/** Row that lists answers excluded from training. */
export const leftOut = [
  Type.Array(leftOutAnswer.schema, { description: "The first hundred." }),
  (outcome: Pick<FeedbackOutcome, "leftOut">) => outcome.leftOut.slice(0, shownMax).map(leftOutAnswer.body),
] as const;

export const feedbackJobAnswer = answerOf<FeedbackOutcome & CreatedJob>()("FeedbackJob", {
  ...createdJobRows,
  counts: [
    Type.Object({
      feedback: Type.Integer({ minimum: 0, description: "Records that the rule may read." }),
      groups: Type.Integer({ minimum: 0, description: "Prompts with answers that train." }),
      answers: Type.Integer({ minimum: 0, description: "Answers that train." }),
      compared: Type.Integer({
        minimum: 0,
        description: "Answers that were trained earlier and count only in the comparison.",
      }),
      people: Type.Integer({ minimum: 0, description: "People whose feedback counts, over all answers." }),
      tokens: Type.Integer({ minimum: 0, description: "Tokens of the prompts and answers that train." }),
      left_out: Type.Object(
        {},
        { additionalProperties: count, description: "Answers that do not train, by reason." },
      ),
    }),
    ({ counts: { leftOut: byReason, ...counts } }) => ({ ...counts, left_out: byReason }),
  ],
  reasons,
  groups: [
    Type.Array(
      Type.Object({
        prompt: Type.String({ description: "Start of the prompt." }),
        answers: Type.Array(rewardedAnswer.schema),
      }),
      { description: "The first hundred." },
    ),
    ({ groups }) =>
      groups.slice(0, shownMax).map(({ prompt, answers }) => ({
        prompt,
        answers: answers.slice(0, shownMax).map(rewardedAnswer.body),
      })),
  ],
  left_out: leftOut,
});

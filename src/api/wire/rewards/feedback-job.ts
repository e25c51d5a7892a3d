// A training job that is made of feedback: what is asked for, what it trains on, and what it leaves out.
import { Type, type Static } from "typebox";
import type { FeedbackOutcome } from "../../../base/domain/rewards/feedback-outcome.ts";
import type { BodyForm } from "../body.ts";
import { nullable, orNull } from "../nullable.ts";
import { report } from "../../../base/validation/findings.ts";
import { checkTrainingConfig } from "../training/training-config.ts";
import { checkRewardTerms, rewardTermsSchema } from "./reward-terms.ts";
import { experimentalConfigField, feedbackSelectionFields, groupsMax } from "./standing-order.ts";

/** What every request for a job from feedback has. */
export const askedFeedbackFields = {
  model_id: Type.String({
    format: "uuid",
    description: "The model to train, whose answers the feedback is on.",
  }),
  rule: nullable(Type.Object({ terms: rewardTermsSchema }), {
    description: "How feedback becomes a reward; either this or rule_id.",
  }),
  rule_id: nullable(Type.String({ format: "uuid" }), {
    description: "A reward rule of the model's project.",
  }),
  ...feedbackSelectionFields,
  until: nullable(Type.String({ format: "date-time" }), {
    description: "Feedback from before then alone.",
  }),
  dry_run: nullable(Type.Boolean(), {
    default: false,
    description: "Answers what the job would train on and what not, and makes none.",
  }),
};

const askedFeedbackSchema = Type.Object(askedFeedbackFields);
export type AskedFeedbackBody = Static<typeof askedFeedbackSchema>;

const creationSchema = Type.Object(
  {
    ...askedFeedbackFields,
    experimental_config: experimentalConfigField,
    groups_max: nullable(Type.Integer({ minimum: 1, maximum: groupsMax }), {
      default: 512,
      description: "Most groups of the job; what is left is for the next.",
    }),
  },
  { title: "FeedbackJobCreate" },
);

export const feedbackJobForm: BodyForm<typeof creationSchema> = {
  schema: creationSchema,
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
};

const count = Type.Integer({ minimum: 0 });

const answerSchema = Type.Object(
  {
    call: Type.String({ description: "The answer's reference." }),
    text: Type.String({ description: "How it begins." }),
    step: Type.Integer({ minimum: 0, description: "The version that answered." }),
    reward: Type.Number(),
    people: Type.Integer({ minimum: 1, description: "Whose feedback the reward is the mean of." }),
    terms: Type.Array(orNull(Type.Object({ value: Type.Number(), people: count })), {
      description: "What each term of the rule gave; null where it found nothing to read.",
    }),
    feedback_ids: Type.Array(Type.String(), { description: "The records that count; the first hundred." }),
    use: Type.Enum(["trained", "compared"], {
      description:
        "`compared` was trained before: its reward counts for the group's mean, and it does not train again.",
    }),
  },
  { title: "RewardedAnswer" },
);

export const leftOutSchema = Type.Object(
  {
    reference: Type.String({ description: "The answer's, or what the feedback names where there is none." }),
    reason: Type.String(),
    reward: orNull(Type.Number()),
    people: count,
    feedback: Type.Integer({ minimum: 0, description: "Records on it." }),
  },
  { title: "LeftOutAnswer" },
);

export const feedbackJobSchema = Type.Object(
  {
    id: orNull(Type.String({ format: "uuid" }), {
      description: "The job's; null of a dry run, and where there was nothing to train on.",
    }),
    dry_run: Type.Boolean(),
    counts: Type.Object({
      feedback: Type.Integer({ minimum: 0, description: "Records that the rule may read." }),
      groups: Type.Integer({ minimum: 0, description: "Prompts with answers that train." }),
      answers: Type.Integer({ minimum: 0, description: "That train." }),
      compared: count,
      people: Type.Integer({ minimum: 0, description: "Whose feedback counts, on all answers." }),
      tokens: Type.Integer({ minimum: 0, description: "Of the prompts and answers that train." }),
      left_out: Type.Object(
        {},
        { additionalProperties: count, description: "Answers that do not train, by the reason." },
      ),
    }),
    reasons: Type.Object(
      {},
      { additionalProperties: Type.String(), description: "What the reasons that there are mean." },
    ),
    groups: Type.Array(
      Type.Object({
        prompt: Type.String({ description: "How it begins." }),
        answers: Type.Array(answerSchema),
      }),
      { description: "The first hundred." },
    ),
    left_out: Type.Array(leftOutSchema, { description: "The first hundred." }),
  },
  { title: "FeedbackJob" },
);

/** Shown of each list. */
export const shownMax = 100;

/** @param id of the job; null where there is none */
export function feedbackJobBody(
  { counts, reasons, groups, leftOut }: FeedbackOutcome,
  { id, isDryRun }: { readonly id: string | null; readonly isDryRun: boolean },
): object {
  const { leftOut: leftOutCounts, ...ofJob } = counts;
  return {
    id,
    dry_run: isDryRun,
    counts: { ...ofJob, left_out: leftOutCounts },
    reasons,
    groups: groups.slice(0, shownMax).map(({ prompt, answers }) => ({
      prompt,
      answers: answers
        .slice(0, shownMax)
        .map(({ call, text, step, reward, peopleCount, terms, feedbackIds, use }) => ({
          call,
          text,
          step,
          reward,
          people: peopleCount,
          terms: terms.map((term) => term && { value: term.value, people: term.peopleCount }),
          feedback_ids: feedbackIds.slice(0, shownMax),
          use,
        })),
    })),
    left_out: leftOutBody(leftOut),
  };
}

/** The first of them. */
export function leftOutBody(leftOut: FeedbackOutcome["leftOut"]): readonly object[] {
  return leftOut.slice(0, shownMax).map(({ reference, reason, reward, peopleCount, feedbackCount }) => ({
    reference,
    reason,
    reward,
    people: peopleCount,
    feedback: feedbackCount,
  }));
}

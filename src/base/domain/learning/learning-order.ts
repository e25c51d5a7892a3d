// Settings with which a model learns while it is used: the signals to learn from, and the gate for new versions.
import type { PreferenceConfig } from "../preferences/preference-config.ts";
import { type FieldValues, integer, number, setOf } from "../resources/fields.ts";
import type { CorrectionTerm } from "../rewards/preference-order.ts";
import { type RewardRule, unitScale } from "../rewards/reward-rule.ts";

/** Kinds of signals: ratings of answers, edited answers, and users' replies to answers, which a judge rates. */
export const learningSignals = ["ratings", "edits", "next_message"] as const;
export type LearningSignal = (typeof learningSignals)[number];

export const learningFields = {
  signals: setOf(learningSignals, {
    default: ["ratings", "edits"],
    about:
      "Signals to learn from. `ratings`: feedback that the terms in the setting `ratings` read. `edits`: feedback with a corrected answer. `next_message`: the judge reads the user's next message in recorded chats, and says whether it accepts or corrects the answer.",
  }),
  signalsMin: integer({
    minimum: 1,
    maximum: 10_000,
    default: 16,
    about: "Minimum number of new feedback records that start a learning job.",
  }),
  secondsBetween: number({
    minimum: 0,
    maximum: 31_536_000,
    default: 3600,
    about: "Minimum time in seconds between the beginnings of two learning cycles.",
  }),
  days: integer({
    minimum: 1,
    maximum: 365,
    default: 30,
    about: "Age limit of the feedback and the recorded chats that are used, in days.",
  }),
  heldOutShare: number({
    minimum: 0.01,
    maximum: 0.9,
    default: 0.2,
    about:
      "Share of the recorded conversations that serves only for evaluation. A hash of its first user message decides whether a conversation belongs to the share, so the model never learns from a conversation that evaluates it.",
  }),
  promptsMin: integer({
    minimum: 1,
    maximum: 256,
    default: 4,
    about: "Minimum number of held-out prompts. With fewer, no learning job starts.",
  }),
  promptsMax: integer({
    minimum: 1,
    maximum: 256,
    default: 32,
    about: "Maximum number of held-out prompts that an evaluation uses, the newest first.",
  }),
  margin: number({
    minimum: 0,
    maximum: 1e6,
    default: 0.02,
    about:
      "The candidate is refused if its score is below the current version's score by more than this. With a judge, the score is a mean reward from 0 to 1. Without a judge, it is a mean log-probability per token.",
  }),
  rollbackSeconds: number({
    minimum: 0,
    maximum: 31_536_000,
    default: 3600,
    about:
      "Time in seconds after a promotion during which bad ratings of the new version restore the version before it. 0 disables the rollback.",
  }),
  rollbackSignalsMin: integer({
    minimum: 1,
    maximum: 10_000,
    default: 8,
    about: "Minimum number of rated answers of the new version that can cause a rollback.",
  }),
  rollbackMargin: number({
    minimum: 0,
    maximum: 1e6,
    default: 0.1,
    about:
      "Drop in mean reward above which a rollback happens: the mean over the rated answers of the version before, minus the mean over those of the new version.",
  }),
};

/** Model that judges answers and messages, and the rubric that it follows. */
export interface LearningJudge {
  /** Name of a model on this server. */
  readonly model: string;
  readonly rubric: string;
}

export interface LearningOrder extends FieldValues<typeof learningFields> {
  /** Rule that computes rewards from ratings. */
  readonly ratings: RewardRule;
  /** Feedback that contains corrected answers. */
  readonly edits: CorrectionTerm;
  /** Null to evaluate by log-probabilities. */
  readonly judge: LearningJudge | null;
  readonly config: PreferenceConfig;
}

/** Feedback type of the records that store the judge's verdicts on users' next messages. */
export const nextMessageType = "hone.next_message";

/** Returns the rule that computes an answer's reward from its ratings, and from judged next messages. */
export function learningRule({ signals, ratings }: LearningOrder): RewardRule {
  return {
    terms: [
      ...(signals.includes("ratings") ? ratings.terms : []),
      ...(signals.includes("next_message") ? [nextMessageTerm] : []),
    ],
  };
}

const nextMessageTerm: RewardRule["terms"][number] = {
  kind: "number",
  weight: 1,
  feedbackType: nextMessageType,
  path: ["value"],
  scale: unitScale,
};

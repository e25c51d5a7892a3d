// Computes the value of one feedback record under one term of a reward rule.
import type { FeedbackRecord } from "../../../base/domain/feedback.ts";
import { valueAt } from "../../../base/domain/feedback-query/values.ts";
import {
  type AnnotationTerm,
  type NumberTerm,
  type PreferenceTerm,
  type ReactionTerm,
  type RewardScale,
  type RewardTable,
  scaled,
} from "../../../base/domain/rewards/reward-rule.ts";
import type { Json } from "../../../base/domain/text/json.ts";

type Said = Pick<FeedbackRecord, "feedbackType" | "payload">;

/** Terms of a reward rule that evaluate each feedback record separately. */
export type ValueTerm = ReactionTerm | NumberTerm | AnnotationTerm;

/** Returns a feedback record's value under the term; null if the term does not apply to the record. */
export function termValue(term: ValueTerm, record: Said): number | null {
  switch (term.kind) {
    case "reaction":
      return isKnownType(record.feedbackType, "reaction.1")
        ? reactionValue(term.rewards, record.payload)
        : null;
    case "number":
      return record.feedbackType === term.feedbackType
        ? numberValue(valueAt(record.payload, term.path), term.scale)
        : null;
    default:
      return annotationTypes(term.name).includes(record.feedbackType) ? annotationValue(term, record) : null;
  }
}

/** Returns a comparison record's reference to the worse answer; null if the term does not apply to the record. */
export function worseReference({ feedbackType }: PreferenceTerm, record: Said): string | null {
  if (feedbackType !== null && record.feedbackType !== feedbackType) return null;
  const worse = record.payload["better_than"];
  return typeof worse === "string" && worse !== "" ? worse : null;
}

/** Returns the feedback types that known clients use for this name: `vendor.<name>` and `wandb.<name>`. */
export function knownTypes(name: string): readonly string[] {
  return [`vendor.${name}`, `wandb.${name}`];
}

/**
 * Returns the types of feedback records that answer the question with this name, in annotation specs and annotation
 * queues.
 */
export function annotationTypes(name: string): readonly string[] {
  return [...knownTypes(`annotation.${name}`), `annotation.${name}`];
}

function isKnownType(feedbackType: string, name: string): boolean {
  return knownTypes(name).includes(feedbackType);
}

/**
 * Returns the reward for a reaction; null if the table has none. An emoji with a skin tone uses its own entry in the
 * table, or else the entry without a skin tone.
 */
function reactionValue(rewards: RewardTable, payload: Said["payload"]): number | null {
  const byName = new Map(Object.entries(rewards).map(([name, reward]) => [plainEmoji(name), reward]));
  for (const field of ["emoji", "alias", "detoned", "detoned_alias"]) {
    const said = payload[field];
    const reward = typeof said === "string" ? byName.get(plainEmoji(said)) : undefined;
    if (reward !== undefined) return reward;
  }
  return null;
}

/** Removes the variation selector of an emoji, which some clients write and others omit. */
function plainEmoji(text: string): string {
  return text.trim().replaceAll("\ufe0f", "");
}

function annotationValue({ rewards, scale }: AnnotationTerm, { payload }: Said): number | null {
  const { value } = payload;
  if (typeof value !== "string") return numberValue(value, scale);
  return rewards !== null && Object.hasOwn(rewards, value) ? rewards[value] : null;
}

function numberValue(value: Json | undefined, scale: RewardScale): number | null {
  if (typeof value === "boolean") return scaled(value ? 1 : 0, scale);
  return typeof value === "number" && Number.isFinite(value) ? scaled(value, scale) : null;
}

// Builds the query condition for the feedback that a reward rule can use, so that the database returns no other
// feedback.
import type { Condition, FieldExpression } from "../../base/domain/feedback-query/condition.ts";
import { all, compare, constant, missing, not } from "../../base/domain/feedback-query/make-condition.ts";
import type { QueryTurn } from "../../base/domain/feedback-query/feedback-query.ts";
import { parseProjectId } from "../../base/domain/project.ts";
import type { CorrectionTerm, PreferenceOrder } from "../../base/domain/rewards/preference-order.ts";
import type { RewardRule, RewardTerm } from "../../base/domain/rewards/reward-rule.ts";
import { annotationTypes, knownTypes } from "./scoring/term-value.ts";

/** Time range from which feedback is read. If one end is null, the range is unlimited on that side. */
export interface FeedbackSpan {
  readonly since: Date | null;
  readonly until: Date | null;
}

/** Time limit in milliseconds for reading one page of feedback. */
const pageMs = 10_000;

/** Returns the options of a query over a project's feedback: the project's entity and the time limit. */
export function turnOf(projectId: string): QueryTurn {
  return { entity: parseProjectId(projectId)?.entity ?? "", timeMs: pageMs };
}

/** Returns the query condition for the feedback that a reward rule can use; `filter` is an additional condition. */
export function ruleCondition({ terms }: RewardRule, filter: Condition, span: FeedbackSpan): Condition {
  return anyOf(terms.map(termCondition), filter, span);
}

/** Returns the query condition for the feedback from which preferences can be made. */
export function preferenceCondition(
  { rule, corrections }: Pick<PreferenceOrder, "rule" | "corrections">,
  filter: Condition,
  span: FeedbackSpan,
): Condition {
  const read = [
    ...(rule?.terms ?? []).map(termCondition),
    ...(corrections === null ? [] : [correctionCondition(corrections)]),
  ];
  return anyOf(read, filter, span);
}

function anyOf(
  alternatives: readonly Condition[],
  filter: Condition,
  { since, until }: FeedbackSpan,
): Condition {
  return all("and", [
    all("or", alternatives),
    ...(since === null ? [] : [compare("gte", createdAt, timeOf(since))]),
    ...(until === null ? [] : [compare("lt", createdAt, timeOf(until))]),
    filter,
  ]);
}

const createdAt: FieldExpression = { kind: "field", field: { kind: "createdAt" } };
const betterThan: FieldExpression = { kind: "field", field: { kind: "payload", path: ["better_than"] } };

function timeOf(date: Date) {
  return { kind: "constant", type: "time", value: date.getTime() } as const;
}

function termCondition(term: RewardTerm): Condition {
  switch (term.kind) {
    case "reaction":
      return isOfType(...knownTypes("reaction.1"));
    case "number":
      return isOfType(term.feedbackType);
    case "annotation":
      return isOfType(...annotationTypes(term.name));
    default: {
      const compares = not(missing(betterThan));
      return term.feedbackType === null ? compares : all("and", [isOfType(term.feedbackType), compares]);
    }
  }
}

function correctionCondition({ feedbackType, path }: CorrectionTerm): Condition {
  const corrects = not(missing({ kind: "field", field: { kind: "payload", path } }));
  return feedbackType === null ? corrects : all("and", [isOfType(feedbackType), corrects]);
}

function isOfType(...types: readonly string[]): Condition {
  const field: FieldExpression = { kind: "field", field: { kind: "text", name: "feedbackType" } };
  return all(
    "or",
    types.map((type) => compare("eq", field, constant(type))),
  );
}

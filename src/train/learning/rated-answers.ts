// Compares the ratings of a promoted version's answers with those of the version before it.
import { always } from "../../base/domain/feedback-query/condition.ts";
import type { LearningCycle, RatedAnswers } from "../../base/domain/learning/learning-cycle.ts";
import { type LearningOrder, learningRule } from "../../base/domain/learning/learning-order.ts";
import type { TrainedModel } from "../../base/domain/model.ts";
import { readFeedback } from "../rewards/feedback-jobs.ts";
import { judgeAnswers } from "../rewards/groups/judge-answers.ts";
import { readCalls } from "../rewards/groups/recorded-calls.ts";
import { ruleCondition } from "../rewards/rule-condition.ts";
import { mean } from "./evaluate.ts";
import type { PlanDependencies } from "./plan-cycle.ts";

/** Returns the number and mean reward of a version's answers that were rated since a time. */
export async function ratedAnswers(
  dependencies: Pick<PlanDependencies, "completions" | "feedback" | "settings">,
  { id, entity, project }: TrainedModel,
  order: LearningOrder,
  { step, since }: { readonly step: number; readonly since: Date },
): Promise<RatedAnswers> {
  const rule = learningRule(order);
  if (rule.terms.length === 0) return { count: 0, mean: null };
  const projectId = `${entity}/${project}`;
  const records = await readFeedback(
    dependencies,
    projectId,
    ruleCondition(rule, always, { since, until: null }),
  );
  const calls = await readCalls(dependencies.completions, rule, projectId, records);
  const { prompts } = judgeAnswers({
    rule,
    model: { id, projectId },
    records,
    callOf: (requestId) => calls.get(requestId),
    trainedOn: () => new Set(),
    stepMin: 0,
    sequenceLengthMax: Infinity,
  });
  const rewards: number[] = [];
  for (const { answers } of prompts)
    for (const { call, score } of answers)
      if (call.step === step && score.reward !== null) rewards.push(score.reward);
  return { count: rewards.length, mean: rewards.length === 0 ? null : mean(rewards) };
}

/** Returns the sentence that says why a promoted version is rolled back; null if it is not. */
export function rollbackReason(
  { order, ratedBefore }: Pick<LearningCycle, "order" | "ratedBefore">,
  { count, mean: own }: RatedAnswers,
): string | null {
  const before = ratedBefore?.mean ?? null;
  if (before === null || own === null || count < order.rollbackSignalsMin) return null;
  if (own >= before - order.rollbackMargin) return null;
  return `The mean reward of ${count} rated answers is ${own.toFixed(4)}, and that of the version before it ${before.toFixed(4)}; at most ${order.rollbackMargin} below is allowed.`;
}

// Which feedback a request asks a job of: the model whose answers it is on, the rule that reads it, and what else selects it.
import type { FastifyRequest } from "fastify";
import type { Condition } from "../../../../base/domain/feedback-query/condition.ts";
import type { TrainedModel } from "../../../../base/domain/model.ts";
import type { RewardRule } from "../../../../base/domain/rewards/reward-rule.ts";
import { locate } from "../../../wire/places.ts";
import type { AskedFeedbackBody } from "../../../wire/rewards/feedback-job.ts";
import { readFilter } from "../../../wire/rewards/feedback-filter.ts";
import { toRewardRule } from "../../../wire/rewards/reward-terms.ts";
import type { HttpDependencies } from "../../dependencies.ts";
import { reachModel } from "../reach.ts";

export interface AskedFeedback {
  readonly model: TrainedModel;
  /** Null where the body names none. */
  readonly rule: RewardRule | null;
  readonly filter: Condition;
  readonly since: Date | null;
  readonly until: Date | null;
  readonly versionAgeMax: number | null;
}

/** @throws ServiceError at the fields of the body: for a model or a rule that the caller has not, for a filter that is none */
export async function readAsked(
  body: AskedFeedbackBody,
  request: FastifyRequest,
  dependencies: HttpDependencies,
): Promise<AskedFeedback> {
  const model = await reachModel(dependencies, request.caller, body.model_id, ["body", "model_id"]);
  return {
    model,
    rule: await ruleOf(body, `${model.entity}/${model.project}`, request, dependencies),
    filter: readFilter(body.filter, dependencies.feedback.queryLimits),
    since: dateOf(body.since),
    until: dateOf(body.until),
    versionAgeMax: body.version_age_max ?? null,
  };
}

async function ruleOf(
  { rule, rule_id: id }: AskedFeedbackBody,
  projectId: string,
  { caller }: FastifyRequest,
  { rewards }: HttpDependencies,
): Promise<RewardRule | null> {
  if (rule) return toRewardRule(rule.terms);
  if (typeof id !== "string") return null;
  try {
    const stored = await rewards.find(id, caller);
    rewards.requireProject(stored, projectId);
    return stored.rule;
  } catch (error) {
    throw locate(error, { not_found: ["body", "rule_id"] });
  }
}

function dateOf(text: string | null | undefined): Date | null {
  return typeof text === "string" ? new Date(text) : null;
}

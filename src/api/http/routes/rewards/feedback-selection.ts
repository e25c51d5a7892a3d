// Reads the part of a request that selects feedback for a training job, and creates or previews the job.
import { createHash } from "node:crypto";
import type { FastifyRequest } from "fastify";
import type { Caller } from "../../../../base/domain/access.ts";
import type { JobDraft, JobTask } from "../../../../base/domain/job.ts";
import type { RewardRule } from "../../../../base/domain/rewards/reward-rule.ts";
import { invalid, quoted } from "../../../../base/domain/service-error.ts";
import type { SubmitJob } from "../../../../train/rewards/automatic/create-automatic-job.ts";
import { locate } from "../../../wire/field-paths.ts";
import type { FeedbackRequest, CreatedJob } from "../../../wire/rewards/feedback-job.ts";
import { readFilter } from "../../../wire/rewards/feedback-filter.ts";
import type { HttpDependencies } from "../../dependencies.ts";
import { reachModel } from "../reach.ts";
import { notAppliedWarnings, submittedBefore, submitWith, trainerPaths } from "../submit-job.ts";

/**
 * Returns the model, the reward rule and the feedback that a request selects.
 *
 * @throws ServiceError located at fields of the body: for an inaccessible model or rule, or an invalid filter
 */
export async function readFeedbackSelection(
  { modelId, rule, ruleId, filter, since, until, versionAgeMax }: FeedbackRequest,
  caller: Caller,
  dependencies: HttpDependencies,
) {
  const model = await reachModel(dependencies, caller, modelId, ["body", "model_id"]);
  const projectId = `${model.entity}/${model.project}`;
  return {
    model,
    /** Rule in the body, or the stored rule that the body names; null if it has neither. */
    rule: rule ?? (ruleId === null ? null : await storedRule(ruleId, projectId, caller, dependencies)),
    filter: readFilter(filter, dependencies.feedback.queryLimits),
    since,
    until,
    versionAgeMax,
  };
}

async function storedRule(
  id: string,
  projectId: string,
  caller: Caller,
  { rewards }: HttpDependencies,
): Promise<RewardRule> {
  try {
    const stored = await rewards.find(id, caller);
    rewards.requireProject(stored, projectId);
    if (stored.rule.terms.length > 0) return stored.rule;
    throw invalid(`The rule ${quoted(stored.name)} trains on rollouts, and has no terms for feedback.`);
  } catch (error) {
    throw locate(error, { not_found: ["body", "rule_id"], invalid: ["body", "rule_id"] });
  }
}

/** A training job that is to be created from feedback. */
interface FeedbackJob<Outcome> {
  readonly entity: string;
  readonly isDryRun: boolean;
  readonly task: JobTask;
  readonly configNotApplied: readonly string[];
  preview(): Promise<Outcome>;
  train(
    identity: Pick<JobDraft, "task" | "configNotApplied" | "warnings">,
    submit: SubmitJob,
  ): Promise<{ readonly id: string | null; readonly outcome: Outcome }>;
}

/**
 * Creates the job. Returns only a preview if the request is a dry run, or if an earlier request with the same
 * idempotency key created the job.
 */
export async function createJob<Outcome extends object>(
  job: FeedbackJob<Outcome>,
  request: FastifyRequest,
  dependencies: HttpDependencies,
): Promise<Outcome & CreatedJob> {
  const { entity, isDryRun, task, configNotApplied } = job;
  if (isDryRun) return { ...(await job.preview()), id: null, isDryRun };
  const hash = createHash("sha256").update(JSON.stringify(request.body)).digest("hex");
  const earlierId = await submittedBefore(request, dependencies, hash);
  if (earlierId !== null) return { ...(await job.preview()), id: earlierId, isDryRun };
  const identity = { task, configNotApplied, warnings: notAppliedWarnings(configNotApplied) };
  await dependencies.room.require(entity);
  try {
    const { id, outcome } = await job.train(identity, submitWith(request, dependencies, hash));
    return { ...outcome, id, isDryRun };
  } catch (error) {
    throw locate(error, trainerPaths(task.kind));
  }
}

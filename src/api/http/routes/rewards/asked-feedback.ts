// Training jobs of the feedback there is: which feedback a request asks for, and how a job of it is made or shown.
import { createHash } from "node:crypto";
import type { FastifyRequest } from "fastify";
import type { Caller } from "../../../../base/domain/access.ts";
import type { JobDraft, JobTask } from "../../../../base/domain/job.ts";
import type { RewardRule } from "../../../../base/domain/rewards/reward-rule.ts";
import type { SubmitJob } from "../../../../train/rewards/automatic/train-on.ts";
import { locate } from "../../../wire/field-paths.ts";
import type { AskedFeedback, MadeJob } from "../../../wire/rewards/feedback-job.ts";
import { readFilter } from "../../../wire/rewards/feedback-filter.ts";
import type { HttpDependencies } from "../../dependencies.ts";
import { reachModel } from "../reach.ts";
import { notAppliedWarnings, submittedBefore, submitWith, trainerPlaces } from "../submit-job.ts";

/** @throws ServiceError at the fields of the body: for a model or a rule that the caller has not, for a filter that is none */
export async function readAsked(
  { modelId, rule, ruleId, filter, since, until, versionAgeMax }: AskedFeedback,
  caller: Caller,
  dependencies: HttpDependencies,
) {
  const model = await reachModel(dependencies, caller, modelId, ["body", "model_id"]);
  const projectId = `${model.entity}/${model.project}`;
  return {
    model,
    /** Null where the body names none. */
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
    return stored.rule;
  } catch (error) {
    throw locate(error, { not_found: ["body", "rule_id"] });
  }
}

/** A job to be made of feedback. */
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

/** Makes the job, unless it is a dry run or the same request made it before. */
export async function makeJob<Outcome extends object>(
  job: FeedbackJob<Outcome>,
  request: FastifyRequest,
  dependencies: HttpDependencies,
): Promise<Outcome & MadeJob> {
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
    throw locate(error, trainerPlaces(task.kind));
  }
}

// Plans and creates training jobs from existing feedback: for requests that create a job, and for previews, which only
// return the plan.
import type { Clock } from "../../base/domain/clock.ts";
import type { FeedbackRecord } from "../../base/domain/feedback.ts";
import type { FeedbackStore } from "../../base/domain/feedback-query/feedback-store.ts";
import type { Condition } from "../../base/domain/feedback-query/condition.ts";
import { newUuid7 } from "../../base/domain/random.ts";
import type { JobDraft } from "../../base/domain/job.ts";
import type { ModelStore, TrainedModel } from "../../base/domain/model.ts";
import type { RewardRule } from "../../base/domain/rewards/reward-rule.ts";
import { ServiceError } from "../../base/domain/service-error.ts";
import { newJob } from "../jobs/new-job.ts";
import { gatherFeedback, type GatherDependencies, type Gathered } from "./gather-feedback.ts";
import { cutToJob, writeGroups } from "./groups/group-lines.ts";
import type { LeftOut } from "./groups/judge-answers.ts";
import type { PlannedGroup } from "./groups/plan-groups.ts";
import { type FeedbackSpan, ruleCondition, turnOf } from "./rule-condition.ts";
import type { RewardSettings } from "./settings.ts";
import type { SubmitJob } from "./automatic/create-automatic-job.ts";
import { callReference } from "../../base/domain/recordings/call-reference.ts";
import { oldestStep } from "../../base/domain/version-age.ts";

export interface FeedbackJobDependencies extends GatherDependencies {
  readonly feedback: Pick<FeedbackStore, "scan">;
  readonly models: Pick<ModelStore, "newestVersion">;
  readonly clock: Clock;
  readonly settings: Pick<RewardSettings, "feedbackPerJob" | "jobBytesMax">;
}

export interface FeedbackJobRequest extends FeedbackSpan {
  readonly model: TrainedModel;
  readonly rule: RewardRule;
  readonly filter: Condition;
  /** Maximum age of an answer, counted in versions from the answer's version to the newest one; null if unlimited. */
  readonly versionAgeMax: number | null;
  readonly groupsMax: number;
}

/** The feedback that a job would train on, and the feedback that it would exclude. */
export interface FeedbackJobPlan {
  readonly gathered: Gathered;
  readonly groups: readonly PlannedGroup[];
  readonly leftOut: readonly LeftOut[];
  /** Number of feedback records that planning read. */
  readonly feedbackCount: number;
}

/**
 * Plans a training job from existing feedback.
 *
 * @throws ServiceError `unsupported` if more feedback matches than one request may read
 */
export async function planFeedbackJob(
  dependencies: FeedbackJobDependencies,
  { model, rule, filter, since, until, versionAgeMax, groupsMax }: FeedbackJobRequest,
): Promise<FeedbackJobPlan> {
  const projectId = `${model.entity}/${model.project}`;
  const condition = ruleCondition(rule, filter, { since, until });
  const records = await readFeedback(dependencies, projectId, condition);
  const newest = await dependencies.models.newestVersion(model.id);
  const gathered = await gatherFeedback(dependencies, {
    rule,
    model: { id: model.id, projectId },
    records,
    stepMin: oldestStep(newest?.step ?? 0, versionAgeMax),
  });
  const { plan } = gathered;
  const groups = cutToJob(plan.groups, { groupsMax, tokensMax: Infinity });
  const leftOut = [
    ...plan.leftOut,
    ...plan.groups.slice(groups.length).flatMap((group) => postponed(group, projectId)),
  ];
  return { gathered, groups, leftOut, feedbackCount: records.length };
}

/**
 * Creates the training job that `planFeedbackJob` planned.
 *
 * @returns the job's id; null if there is nothing to train on
 * @throws ServiceError as {@link JobQueue.submit}; `conflict` if other jobs took some of the feedback meanwhile
 */
export async function createFeedbackJob(
  { completions, clock, settings }: FeedbackJobDependencies,
  { gathered, groups }: Pick<FeedbackJobPlan, "gathered" | "groups">,
  identity: Pick<JobDraft, "task" | "configNotApplied" | "warnings">,
  submit: SubmitJob,
): Promise<string | null> {
  const { jobBytesMax: bytesMax } = settings;
  const { lines, outlines, sources } = await writeGroups(completions, groups, gathered, { bytesMax });
  if (lines.length === 0) return null;
  const job = newJob({
    id: newUuid7(clock),
    modelId: gathered.model.id,
    createdAt: clock.now(),
    ...identity,
  });
  return (await submit(job, lines, { outlines, feedback: { sources, standing: null } })).id;
}

/**
 * Reads all feedback that matches a filter.
 *
 * @throws ServiceError `unsupported` if more feedback matches than one request may read
 */
export async function readFeedback(
  { feedback, settings }: Pick<FeedbackJobDependencies, "feedback" | "settings">,
  projectId: string,
  condition: Condition,
): Promise<readonly FeedbackRecord[]> {
  const records: FeedbackRecord[] = [];
  for (let after: number | null = null, hasMore = true; hasMore;) {
    const page = await feedback.scan({ projectId, condition, after, limit: pageMax }, turnOf(projectId));
    records.push(...page.items);
    if (records.length > settings.feedbackPerJob) throw tooMuch(settings.feedbackPerJob);
    after = page.last;
    hasMore = page.hasMore && after !== null;
  }
  return records;
}

const pageMax = 500;

function tooMuch(limit: number): ServiceError {
  const message =
    `More than ${limit} feedback records are asked for, the most that one request looks at. ` +
    "Say since, until or a filter; or let an automatic rule read them gradually.";
  return new ServiceError({ code: "unsupported", message });
}

function postponed({ answers }: PlannedGroup, projectId: string): readonly LeftOut[] {
  return answers.map(({ requestId, choice, reward, peopleCount, feedback }) => ({
    reference: callReference({ projectId, requestId }, choice),
    reason: "later_job",
    reward,
    peopleCount,
    feedbackCount: feedback.length,
  }));
}

// Plans and creates preference jobs from existing feedback: for requests that create a job, and for previews, which
// only return the plan.
import type { Condition } from "../../../base/domain/feedback-query/condition.ts";
import { newUuid7 } from "../../../base/domain/random.ts";
import type { JobDraft } from "../../../base/domain/job.ts";
import type { TrainedModel } from "../../../base/domain/model.ts";
import type { PreferenceOrder } from "../../../base/domain/rewards/preference-order.ts";
import { oldestStep } from "../../../base/domain/version-age.ts";
import { newJob } from "../../jobs/new-job.ts";
import { type FeedbackJobDependencies, readFeedback } from "../feedback-jobs.ts";
import { gather, type Gathered } from "../gather-feedback.ts";
import type { LeftOut } from "../groups/judge-answers.ts";
import { type FeedbackSpan, preferenceCondition } from "../rule-condition.ts";
import type { SubmitJob } from "../automatic/create-automatic-job.ts";
import { planPreferences, type PreferencePlan } from "./plan-preferences.ts";
import { type PreferenceLines, writePreferences } from "./preference-lines.ts";

export interface PreferenceJobRequest extends FeedbackSpan {
  readonly model: TrainedModel;
  readonly order: PreferenceOrder;
  readonly filter: Condition;
  /** Maximum age of an answer, counted in versions from the answer's version to the newest one; null if unlimited. */
  readonly versionAgeMax: number | null;
  readonly preferencesMax: number;
}

/** The preferences that a job would train on, and the answers that it would exclude. */
export interface PreferenceJobPlan {
  readonly gathered: Gathered<PreferencePlan>;
  readonly written: PreferenceLines;
  readonly leftOut: readonly LeftOut[];
  /** Number of feedback records that planning read. */
  readonly feedbackCount: number;
}

/**
 * Plans a preference job from existing feedback. Must read the recordings too, because only they show whether an answer
 * is trainable.
 *
 * @throws ServiceError `unsupported` if more feedback matches than one request may read
 */
export async function planPreferenceJob(
  dependencies: FeedbackJobDependencies,
  { model, order, filter, versionAgeMax, preferencesMax, ...span }: PreferenceJobRequest,
): Promise<PreferenceJobPlan> {
  const projectId = `${model.entity}/${model.project}`;
  const records = await readFeedback(dependencies, projectId, preferenceCondition(order, filter, span));
  const newest = await dependencies.models.newestVersion(model.id);
  const gathered = await gather(
    dependencies,
    {
      rule: order.rule ?? { terms: [] },
      model: { id: model.id, projectId },
      records,
      stepMin: oldestStep(newest?.step ?? 0, versionAgeMax),
    },
    (input) => planPreferences(input, order),
  );
  const limits = { preferencesMax, bytesMax: dependencies.settings.jobBytesMax };
  const { preferences, leftOut } = gathered.plan;
  const written = await writePreferences(dependencies.completions, preferences, gathered, limits);
  return {
    gathered,
    written,
    leftOut: [...leftOut, ...written.leftOut],
    feedbackCount: records.length,
  };
}

/**
 * Creates the preference job that `planPreferenceJob` planned.
 *
 * @returns the job's id; null if there is nothing to train on
 * @throws ServiceError as {@link JobQueue.submit}; `conflict` if other jobs took some of the feedback meanwhile
 */
export async function createPreferenceJob(
  { clock }: Pick<FeedbackJobDependencies, "clock">,
  { gathered, written: { lines, sources } }: Pick<PreferenceJobPlan, "gathered" | "written">,
  identity: Pick<JobDraft, "task" | "configNotApplied" | "warnings">,
  submit: SubmitJob,
): Promise<string | null> {
  if (lines.length === 0) return null;
  const job = newJob({
    id: newUuid7(clock),
    modelId: gathered.model.id,
    createdAt: clock.now(),
    ...identity,
  });
  return (await submit(job, lines, { feedback: { sources, standing: null } })).id;
}

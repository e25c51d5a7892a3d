// Creates a job for an automatic rule from its trainable feedback. One transaction writes the job, its feedback and the
// rule's state. Even after a crash, each feedback record is therefore either in exactly one job or still waiting for
// one.
import type { Clock } from "../../../base/domain/clock.ts";
import { newUuid7 } from "../../../base/domain/random.ts";
import type { JobCreation, JobDraft } from "../../../base/domain/job.ts";
import type { RuleStore, AutomaticOrder } from "../../../base/domain/rewards/stored-rule.ts";
import { newJob } from "../../jobs/new-job.ts";
import { cutToJob, writeGroups } from "../groups/group-lines.ts";
import type { RewardSettings } from "../settings.ts";
import { examinePrompts, type ReadDependencies, type AutomaticTask } from "./read-new-feedback.ts";

export interface TrainDependencies extends ReadDependencies {
  readonly rules: Pick<RuleStore, "advance" | "notesOf" | "notedPrompts" | "readyPrompts">;
  readonly submit: SubmitJob;
  readonly settings: Pick<RewardSettings, "jobBytesMax">;
  readonly clock: Clock;
}

/**
 * Submits a job like {@link JobQueue.submit}, but needs no idempotency key: a retry cannot create a second job, because
 * the database refuses to train on the same feedback twice.
 */
export type SubmitJob = (
  job: JobDraft,
  lines: Iterable<string>,
  more: Pick<JobCreation, "outlines" | "feedback" | "rollouts">,
) => Promise<{ readonly id: string }>;

/**
 * Number of prompts to examine for each group of the job. It is above 1, because some prompts may have nothing to train
 * on.
 */
const spareShare = 1.5;

/**
 * Creates the next job of an automatic rule.
 *
 * @param options.tokensMax token limit of the job
 * @returns the job's id; null if reading the feedback showed too few trainable groups
 * @throws ServiceError as {@link JobQueue.submit}; `conflict` if other jobs took some of the feedback meanwhile
 */
export async function createAutomaticJob(
  dependencies: TrainDependencies,
  task: AutomaticTask,
  order: AutomaticOrder,
  { tokensMax }: { readonly tokensMax: number },
): Promise<string | null> {
  const { rules, completions, submit, clock, settings } = dependencies;
  const { hold, model, cursor } = task;
  const hashes = await rules.readyPrompts(hold.ruleId, Math.ceil(order.groupsMax * spareShare));
  const gathered = await examinePrompts(dependencies, task, hashes);
  const found = new Set(gathered.plan.groups.map(({ promptHash }) => promptHash));
  const prompts = new Map(hashes.filter((hash) => !found.has(hash)).map((hash) => [hash, false]));
  if (prompts.size > 0) await rules.advance(hold, { from: cursor, to: cursor, notes: [], prompts });
  if (found.size < order.groupsMin) return null;
  const groups = cutToJob(gathered.plan.groups, { groupsMax: order.groupsMax, tokensMax });
  const written = await writeGroups(completions, groups, gathered, { bytesMax: settings.jobBytesMax });
  if (written.groups.length === 0) return null;
  const job = newJob({
    id: newUuid7(clock),
    modelId: model.id,
    task: { kind: "rl", config: order.config },
    configNotApplied: [],
    createdAt: clock.now(),
  });
  const standing = {
    hold,
    tokenCount: written.tokenCount,
    promptHashes: written.groups.map(({ promptHash }) => promptHash),
  };
  const { lines, outlines, sources } = written;
  return (await submit(job, lines, { outlines, feedback: { sources, standing } })).id;
}

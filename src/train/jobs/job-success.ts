// Describes a successful attempt for the store: the new version with its metrics, or the result of a replay.
import type { JobAssignment, JobOutcome, JobSuccess, TrainingJob } from "../../base/domain/job.ts";
import { allItems } from "../../base/domain/page.ts";
import { newUuid } from "../../base/domain/random.ts";
import type { TrainingSourceStore } from "../../base/domain/rewards/training-source.ts";

/** Metric of a version: the mean reward of the answers on which its job trained. */
const dataReward = "data/reward";

/**
 * Adds the mean reward of the judged answers to the outcome of a job that was created from feedback. A reinforcement
 * job has computed this metric from its trajectories; the data of a preference job contains no rewards.
 */
export async function withFeedbackReward(
  outcome: JobOutcome,
  { id }: Pick<TrainingJob, "id">,
  { sources }: { readonly sources?: Pick<TrainingSourceStore, "list"> },
): Promise<JobOutcome> {
  if (sources === undefined || dataReward in outcome.metrics) return outcome;
  let [sum, count] = [0, 0];
  for await (const { use, reward } of allItems((page) => sources.list(id, page)))
    if (use === "trained" && reward !== null) {
      sum += reward;
      count += 1;
    }
  return count === 0 ? outcome : { ...outcome, metrics: { ...outcome.metrics, [dataReward]: sum / count } };
}

export function successOf(
  outcome: JobOutcome,
  { job, model, pins }: JobAssignment,
  { owner, at }: Pick<JobSuccess, "owner" | "at">,
): JobSuccess {
  const { metrics, counts, comparison, adapterFolder, trainerState, base, adapterHash } = outcome;
  if (comparison !== undefined) {
    const data = { ...metrics, matrices: comparison.matrixCount, different: comparison.differentCount };
    return { owner, at, counts, version: null, comparison, data };
  }
  const version = {
    id: newUuid(),
    modelId: model.id,
    step: pins.resultStep,
    adapterFolder,
    trainerState,
    jobId: job.id,
    metrics,
    isPinned: false,
    base,
    adapterHash,
    copiedKind: null,
    createdAt: at,
  };
  return { owner, at, counts, version, data: { ...metrics, step: pins.resultStep } };
}

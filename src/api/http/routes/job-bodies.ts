// Converts training jobs to API answers, which include the model's name and the rewards before and after the job. Names
// and rewards are loaded for a whole page of jobs at a time.
import type { TrainingJob } from "../../../base/domain/job.ts";
import type { VersionKey } from "../../../base/domain/model.ts";
import { rewardedVersions, rewardMetrics, rewardsOf } from "../../../base/domain/rewards/job-rewards.ts";
import { trainingJobBody } from "../../wire/training-job.ts";
import type { HttpDependencies } from "../dependencies.ts";

type Dependencies = Pick<HttpDependencies, "models" | "jobQueue" | "clock">;

/**
 * Returns a function that converts any of these jobs to an API answer.
 *
 * @param jobs at most 100
 */
export async function jobBodies(
  jobs: readonly TrainingJob[],
  { models, jobQueue, clock }: Dependencies,
): Promise<(job: TrainingJob) => object> {
  const ids = [...new Set(jobs.map(({ modelId }) => modelId))];
  const [names, metrics] = await Promise.all([
    models.namesOf(ids),
    models.metricsOf(jobs.flatMap(rewardedVersions), rewardMetrics),
  ]);
  const byVersion = new Map(metrics.map((found) => [keyOf(found), found.metrics]));
  return (job) =>
    trainingJobBody(job, jobQueue.limits, clock.now(), {
      model: names.get(job.modelId) ?? null,
      rewards: rewardsOf(job, (version, metric) => byVersion.get(keyOf(version))?.[metric] ?? null),
    });
}

export async function jobBody(job: TrainingJob, dependencies: Dependencies): Promise<object> {
  return (await jobBodies([job], dependencies))(job);
}

function keyOf({ modelId, step }: VersionKey): string {
  return `${modelId}:${step}`;
}

// Converts training jobs to API answers, which include the model's name, the rewards before and after the job, and the
// cost. Models and rewards are loaded for a whole page of jobs at a time.
import { costOf } from "../../../base/domain/costs/prices.ts";
import { chargedTokens, type TrainingJob } from "../../../base/domain/job.ts";
import type { TrainedModel, VersionKey } from "../../../base/domain/model.ts";
import { rewardedVersions, rewardMetrics, rewardsOf } from "../../../base/domain/rewards/job-rewards.ts";
import { fullName } from "../../../inference/models/registry/model-name.ts";
import { trainingJobBody } from "../../wire/training-job.ts";
import type { HttpDependencies } from "../dependencies.ts";

type Dependencies = Pick<HttpDependencies, "models" | "jobQueue" | "clock" | "prices">;

/**
 * Returns a function that converts any of these jobs to an API answer.
 *
 * @param jobs at most 100
 */
export async function jobBodies(
  jobs: readonly TrainingJob[],
  { models, jobQueue, clock, prices }: Dependencies,
): Promise<(job: TrainingJob) => object> {
  const [found, metrics] = await Promise.all([
    models.findMany(jobs.map(({ modelId }) => modelId)),
    models.metricsOf(jobs.flatMap(rewardedVersions), rewardMetrics),
  ]);
  const byVersion = new Map(metrics.map((version) => [keyOf(version), version.metrics]));
  return (job) => {
    const model = found.get(job.modelId);
    return trainingJobBody(job, jobQueue.limits, clock.now(), {
      model: nameOf(model),
      rewards: rewardsOf(job, (version, metric) => byVersion.get(keyOf(version))?.[metric] ?? null),
      ...costOf(prices, model?.baseModel ?? null, chargedTokens(job)),
    });
  };
}

export async function jobBody(job: TrainingJob, dependencies: Dependencies): Promise<object> {
  return (await jobBodies([job], dependencies))(job);
}

/** Returns the full name of a model; null if it was deleted. */
export function nameOf(model: TrainedModel | undefined): string | null {
  return model === undefined ? null : fullName(model);
}

function keyOf({ modelId, step }: VersionKey): string {
  return `${modelId}:${step}`;
}

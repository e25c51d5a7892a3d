// Compares the mean rewards of the versions before and after a job, for each reward metric separately. Pure: the caller
// reads the metrics.
import type { TrainingJob } from "../job.ts";
import type { VersionKey } from "../model.ts";

/**
 * Metrics that are rewards. `val/reward` and `train/reward` come from the logs of a version. `data/reward` comes from
 * the data that the job of a version trained on.
 */
export const rewardMetrics = ["val/reward", "train/reward", "data/reward"] as const;

type RewardMetric = (typeof rewardMetrics)[number];

/**
 * One reward metric of the version from which a job started, and of the version that the job published. A value is null
 * if it is unknown.
 */
export interface JobReward {
  readonly metric: RewardMetric;
  readonly before: number | null;
  readonly after: number | null;
}

/** Returns a metric of a version; null if there is no such version, or it does not have the metric. */
export type MetricOf = (version: VersionKey, metric: RewardMetric) => number | null;

type Trained = Pick<TrainingJob, "modelId" | "pins" | "resultStep">;

/** Returns the versions whose metrics {@link rewardsOf} reads. */
export function rewardedVersions({ modelId, pins, resultStep }: Trained): readonly VersionKey[] {
  const steps = [pins?.startStep ?? null, resultStep, resultStep === null ? null : resultStep + 1];
  return steps.flatMap((step) => (step === null ? [] : [{ modelId, step }]));
}

/** Returns each reward metric that has a value before the job or after it. */
export function rewardsOf({ modelId, pins, resultStep }: Trained, metricOf: MetricOf): readonly JobReward[] {
  const at = (step: number | null, metric: RewardMetric): number | null =>
    step === null ? null : metricOf({ modelId, step }, metric);
  const next = resultStep === null ? null : resultStep + 1;
  return rewardMetrics
    .map((metric) =>
      // The metric `data/reward` of a version describes the version before it, because that version generated the
      // answers in the data.
      metric === "data/reward"
        ? { metric, before: at(resultStep, metric), after: at(next, metric) }
        : { metric, before: at(pins?.startStep ?? null, metric), after: at(resultStep, metric) },
    )
    .filter(({ before, after }) => before !== null || after !== null);
}

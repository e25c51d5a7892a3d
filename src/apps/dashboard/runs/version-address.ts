// Addresses of the trajectories behind the curves of a model's versions. Has no side effects.
import type { Checkpoint } from "../../client/api.ts";
import { addressOf } from "../router.ts";

/** Prefixes of the metrics that a log of trajectories gives a version. */
const loggedSplits = ["val", "train"];

/**
 * Returns a function for the address behind a version's value of a metric. A logged metric has the trajectories of the
 * log, because their mean is the value. Other metrics have the groups of the job that trained the version.
 */
export function versionAddresses(
  modelId: string,
  versions: readonly Pick<Checkpoint, "step" | "job_id">[],
): (step: number, metric: string) => string {
  const jobOf = new Map(versions.map(({ step, job_id: jobId }) => [step, jobId]));
  return (step, metric) => {
    const split = loggedSplits.find((name) => metric.startsWith(`${name}/`));
    if (split !== undefined)
      return addressOf("trajectories", [modelId], { source: "log", split, step: String(step) });
    const jobId = jobOf.get(step) ?? null;
    return jobId === null
      ? addressOf("trajectories", [modelId], { step: String(step) })
      : addressOf("jobs", [jobId, "groups"]);
  };
}

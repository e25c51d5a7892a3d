// Computes how stale a job's trajectories are: by how many versions the job's start version is newer than the policy
// that generated a trajectory. Pure.
import { mean } from "../../trajectories/statistics.ts";
import type { Trajectory } from "../../../base/domain/trajectory.ts";
import type { PolicyMetrics } from "./policy-metrics.ts";

/** Returns the number of the oldest policy version in a trajectory's record; null if the record has none. */
export function oldestVersionOf({
  initialPolicyVersion,
  finalPolicyVersion,
}: Pick<Trajectory, "initialPolicyVersion" | "finalPolicyVersion">): number | null {
  const versions = [initialPolicyVersion, finalPolicyVersion].filter((version) => version !== null);
  return versions.length === 0 ? null : Math.min(...versions);
}

/**
 * Returns the mean and the maximum staleness of a step's sequences, in versions. Empty if no sequence has a recorded
 * version.
 *
 * @param oldestVersions oldest version of each sequence; null if not recorded
 * @param startStep number of the version from which the job starts
 */
export function stalenessMetrics(
  oldestVersions: readonly (number | null)[],
  startStep: number,
): PolicyMetrics {
  const behind = oldestVersions.flatMap((version) => (version === null ? [] : [startStep - version]));
  if (behind.length === 0) return {};
  return {
    "offpolicy/policy_staleness_mean": mean(behind),
    "offpolicy/policy_staleness_max": behind.reduce((one, other) => Math.max(one, other)),
  };
}

// How old the policies are that a job's trajectories came from. Pure.
import { mean } from "../../trajectories/statistics.ts";
import type { Trajectory } from "../../../base/domain/trajectory.ts";
import type { PolicyMetrics } from "./policy-metrics.ts";

/** The oldest version that a trajectory says it was made with; null when it does not say. */
export function oldestVersionOf({
  initialPolicyVersion,
  finalPolicyVersion,
}: Pick<Trajectory, "initialPolicyVersion" | "finalPolicyVersion">): number | null {
  const versions = [initialPolicyVersion, finalPolicyVersion].filter((version) => version !== null);
  return versions.length === 0 ? null : Math.min(...versions);
}

/**
 * How many versions training has gone on since, over the sequences of a step; empty where none says what it was made with.
 *
 * @param oldestVersions of each sequence; null where it does not say
 * @param startStep the version that the job starts from
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

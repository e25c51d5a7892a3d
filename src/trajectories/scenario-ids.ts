// Which scenarios trajectories are of: ids that clients put in the metadata of groups or trajectories.
import type { TrajectoryGroup } from "../domain/trajectory.ts";

/** The scenario of each group: `metadata.scenario_id` of the group, else those of its trajectories. */
export function scenarioIdsOf(groups: readonly TrajectoryGroup[]): string[] {
  return groups.flatMap((group) => {
    const ofGroup = scenarioIdIn(group.metadata);
    if (ofGroup !== null) return [ofGroup];
    return group.trajectories.flatMap((trajectory) => scenarioIdIn(trajectory.metadata) ?? []);
  });
}

function scenarioIdIn(metadata: TrajectoryGroup["metadata"]): string | null {
  const id = metadata["scenario_id"];
  return typeof id === "string" || typeof id === "number" ? String(id) : null;
}

// Builds the data of a reinforcement learning job from selected trajectories. Has no side effects.
import type { StoredTrajectory } from "../../client/api.ts";
import type { BodyOf } from "../../client/calls/calls.ts";
import { trajectoryGroup } from "../training/again.ts";

type Groups = NonNullable<BodyOf<"POST /v1/preview/training-jobs">["trajectory_groups"]>;

/**
 * Returns the selected trajectories in their original groups, without groups that have no selected trajectory.
 *
 * @throws Error if a trajectory is so large that the server sent only a part of it
 */
export function selectedGroups(trajectories: readonly StoredTrajectory[]): Groups {
  const groups = new Map<string, StoredTrajectory[]>();
  for (const trajectory of trajectories) {
    if (trajectory.left_out_bytes !== undefined)
      throw new Error("One of these trajectories is too large for the page. Create the job over the API.");
    const name = `${trajectory.source_id} ${trajectory.group_index}`;
    groups.set(name, [...(groups.get(name) ?? []), trajectory]);
  }
  // Safe cast: the server had accepted these trajectories.
  return [...groups.values()].map((rows) => trajectoryGroup(rows)) as unknown as Groups;
}

// Gathers the trajectories of a job into their groups. Has no side effects.
import type { TrajectoryOutline } from "../../client/api.ts";

export interface GroupRow {
  readonly index: number;
  /** Beginning of the prompt. */
  readonly prompt: string;
  readonly members: readonly TrajectoryOutline[];
  readonly meanReward: number;
  /** Difference between the highest and the lowest reward. With 0, the group teaches nothing. */
  readonly spread: number;
}

/** Returns the groups in the order of the job's data. */
export function groupRows(outlines: readonly TrajectoryOutline[]): readonly GroupRow[] {
  const groups = new Map<number, readonly TrajectoryOutline[]>();
  for (const outline of outlines)
    groups.set(outline.group_index, [...(groups.get(outline.group_index) ?? []), outline]);
  return [...groups]
    .map(([index, found]) => {
      const members = found.toSorted((one, other) => one.index - other.index);
      const rewards = members.map(({ reward }) => reward);
      return {
        index,
        prompt: members[0]?.prompt ?? "",
        members,
        meanReward: rewards.reduce((sum, reward) => sum + reward, 0) / rewards.length,
        spread: Math.max(...rewards) - Math.min(...rewards),
      };
    })
    .toSorted((one, other) => one.index - other.index);
}

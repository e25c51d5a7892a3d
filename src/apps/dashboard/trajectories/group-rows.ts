// Gathers the trajectories of a job into their groups. Has no side effects.
import type { TrainingJob, TrajectoryOutline } from "../../client/api.ts";
import { counted } from "../components/numbers.ts";
import { shortId } from "../components/short-id.ts";

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

/** Returns the title of the view of a job's groups, such as `poet, version 2: the 6 groups of its training`. */
export function groupsTitle({
  job: { id, model, result_step: version },
  groups: { length: count },
}: {
  readonly job: Pick<TrainingJob, "id" | "model" | "result_step">;
  readonly groups: readonly GroupRow[];
}): string {
  const name = model?.split("/").at(-1);
  if (name === undefined || count === 0) return `Groups of job ${shortId(id)}`;
  const groups = count === 1 ? "group" : counted(count, "group");
  return version === null
    ? `${name}: the ${groups} of job ${shortId(id)}`
    : `${name}, version ${version}: the ${groups} of its training`;
}

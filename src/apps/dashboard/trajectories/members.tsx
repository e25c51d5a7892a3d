// Links to the trajectories of a group, which answer the same prompt.
import type { TrajectoryOutline } from "../../client/api.ts";
import type { Hone } from "../../client/hone.ts";
import { shortNumber } from "../components/numbers.ts";
import { sameList } from "../neighbours/list-place.ts";
import { addressOf } from "../router.ts";
import { useLoaded } from "../use-loaded.ts";
import type { GroupRow } from "./group-rows.ts";

/** Links to the trajectories of a group, each with its reward. */
export function Members({
  group: { members },
  modelId,
  current = "",
  from,
}: {
  readonly group: Pick<GroupRow, "members">;
  readonly modelId: string;
  /** Id of the trajectory that the view shows. */
  readonly current?: string;
  /** Query of the links, which names the list. */
  readonly from: Readonly<Record<string, string>>;
}) {
  return (
    <span class="members">
      {members.map(({ id, index, reward, answer }, place) => (
        <a
          key={id}
          href={addressOf("trajectories", [modelId, id], from)}
          title={answer}
          aria-label={`Trajectory ${index + 1}, reward ${shortNumber(reward)}`}
          aria-current={id === current ? "page" : undefined}
          data-row={place === 0 ? true : undefined}
        >
          {shortNumber(reward)}
        </a>
      ))}
    </span>
  );
}

/** Maximum number of trajectories of a group that are linked. */
const siblingsMax = 64;

/** Returns the summaries of a stored trajectory's group, including its own; null before they are loaded. */
export function useGroup(
  hone: Hone,
  { modelId, number }: { readonly modelId: string; readonly number: string },
  of: Pick<TrajectoryOutline, "index" | "source" | "source_id" | "group_index">,
): readonly TrajectoryOutline[] | null {
  const { index, source, source_id: sourceId, group_index: groupIndex } = of;
  const { value } = useLoaded(
    async (signal) => {
      // A group is stored at once, so its trajectories have consecutive numbers.
      const before = Number(number) - index - 1;
      const query = {
        source,
        order: "asc",
        limit: siblingsMax,
        ...(before > 0 && { after: String(before) }),
      } as const;
      const page = await hone.trajectories.outlines(modelId, query, { signal }).first();
      return page.data.filter((one) => one.source_id === sourceId && one.group_index === groupIndex);
    },
    [hone, modelId, number],
  );
  return value;
}

/** Links to all trajectories of the group of a stored trajectory; nothing if it is the only one. */
export function Siblings({
  members,
  modelId,
  number,
}: {
  readonly members: readonly TrajectoryOutline[];
  readonly modelId: string;
  readonly number: string;
}) {
  if (members.length < 2) return null;
  return (
    <section aria-labelledby="group">
      <h2 id="group">Rewards of its group</h2>
      <Members group={{ members }} modelId={modelId} current={number} from={sameList()} />
    </section>
  );
}

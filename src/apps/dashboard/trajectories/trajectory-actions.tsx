// Actions on selected trajectories: save them, compare two, and start a job that trains on them.
import type { StoredTrajectory, TrajectoryOutline } from "../../client/api.ts";
import type { Hone } from "../../client/hone.ts";
import { Failure } from "../components/forms/failure.tsx";
import { useAction } from "../components/forms/use-action.ts";
import { Icon } from "../components/icon.tsx";
import { BulkActions } from "../components/tables/bulk-actions.tsx";
import { addressOf, go } from "../router.ts";
import { may } from "../session.ts";
import { counted } from "../components/numbers.ts";
import { selectedGroups } from "./selected-groups.ts";

export function TrajectoryActions({
  hone,
  modelId,
  rows,
}: {
  readonly hone: Hone;
  readonly modelId: string;
  readonly rows: readonly TrajectoryOutline[];
}) {
  const { isBusy, failure, run } = useAction();
  const load = (): Promise<readonly StoredTrajectory[]> =>
    Promise.all(rows.map(({ id }) => hone.trajectories.get(modelId, id)));
  const groupCount = new Set(rows.map((row) => `${row.source_id} ${row.group_index}`)).size;
  const train = async (): Promise<void> => {
    const question = `Train the model on ${counted(rows.length, "trajectory", "trajectories")} in ${counted(groupCount, "group")}? Only groups with different rewards teach the model.`;
    if (!confirm(question)) return;
    const { id } = await hone.jobs.create({
      model_id: modelId,
      trajectory_groups: selectedGroups(await load()),
    });
    go(addressOf("jobs", [id]));
  };
  return (
    <BulkActions rows={rows} name="trajectories" load={load}>
      {may("train") && (
        <button type="button" disabled={isBusy || rows.length === 0} onClick={() => run(train)}>
          <Icon of="play" /> Train
        </button>
      )}
      <Failure of={failure} />
    </BulkActions>
  );
}

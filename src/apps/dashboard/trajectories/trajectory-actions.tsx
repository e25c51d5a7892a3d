// Actions on selected trajectories: save them, compare two, and start a job that trains on them.
import type { StoredTrajectory, TrajectoryOutline } from "../../client/api.ts";
import type { Hone } from "../../client/hone.ts";
import { ActionButton } from "../components/forms/action-button.tsx";
import { Icon } from "../components/icon.tsx";
import { BulkActions } from "../components/tables/bulk-actions.tsx";
import { inSteps } from "../components/tables/steps.ts";
import { addressOf, go } from "../router.ts";
import { may } from "../session.ts";
import { counted } from "../components/numbers.ts";
import { selectedGroups } from "./selected-groups.ts";

export function TrajectoryActions({
  hone,
  modelId,
  rows,
  table,
}: {
  readonly hone: Hone;
  readonly modelId: string;
  readonly rows: readonly TrajectoryOutline[];
  /** The rows as the table shows them. */
  readonly table: () => readonly object[];
}) {
  const load = (): Promise<readonly StoredTrajectory[]> =>
    inSteps(rows, ({ id }) => hone.trajectories.get(modelId, id));
  const groupCount = new Set(rows.map((row) => `${row.source_id} ${row.group_index}`)).size;
  const chosen = `${counted(rows.length, "trajectory", "trajectories")} in ${counted(groupCount, "group")}`;
  const train = async (): Promise<void> => {
    const { id } = await hone.jobs.create({
      model_id: modelId,
      trajectory_groups: selectedGroups(await load()),
    });
    go(addressOf("jobs", [id]));
  };
  return (
    <BulkActions rows={rows} table={table} name="trajectories" load={load}>
      {may("train") && (
        <ActionButton
          isOff={rows.length === 0}
          asks={{
            title: `Train the model on ${chosen}?`,
            says: "Only groups with different rewards teach the model. The job makes a new version.",
            button: "Start the job",
          }}
          act={train}
          done="Job created."
        >
          <Icon of="play" /> Train
        </ActionButton>
      )}
    </BulkActions>
  );
}

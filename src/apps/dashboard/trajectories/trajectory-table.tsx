// Table of stored trajectories: prompt, answer, reward, and the metrics that most rows have.
import type { TrajectoryOutline } from "../../client/api.ts";
import type { Hone } from "../../client/hone.ts";
import { DataTable } from "../components/tables/data-table.tsx";
import { useSelection } from "../components/tables/selection.tsx";
import { TrajectoryActions } from "./trajectory-actions.tsx";
import { columnsOf } from "./trajectory-columns.tsx";

export function TrajectoryTable({
  hone,
  modelId,
  rows,
}: {
  readonly hone: Hone;
  readonly modelId: string;
  readonly rows: readonly TrajectoryOutline[];
}) {
  const selection = useSelection<TrajectoryOutline>(({ id }) => id);
  return (
    <DataTable
      label="Trajectories"
      columns={columnsOf(rows, modelId)}
      rows={rows}
      idOf={({ id }) => id}
      nameOf={({ id }) => `trajectory ${id}`}
      selection={selection}
      toolbar={(selected, tableOf) => (
        <TrajectoryActions hone={hone} modelId={modelId} rows={selected} table={tableOf(selected)} />
      )}
    />
  );
}

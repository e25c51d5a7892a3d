// Table of stored trajectories: prompt, answer, reward, and the metrics that most rows have.
import type { TrajectoryOutline } from "../../client/api.ts";
import type { Hone } from "../../client/hone.ts";
import { DataTable } from "../components/tables/data-table.tsx";
import { useSelection } from "../components/tables/selection.tsx";
import type { Filters } from "./list-query.ts";
import { TrajectoryActions } from "./trajectory-actions.tsx";
import { columnsOf } from "./trajectory-columns.tsx";

export function TrajectoryTable({
  hone,
  modelId,
  rows,
  filters,
  pages,
}: {
  readonly hone: Hone;
  readonly modelId: string;
  readonly rows: readonly TrajectoryOutline[];
  readonly filters: Filters;
  /** Reads all pages of the list, from the first; absent if there is only one page. */
  readonly pages?: ((signal: AbortSignal) => AsyncIterable<readonly TrajectoryOutline[]>) | undefined;
}) {
  const selection = useSelection<TrajectoryOutline>(({ id }) => id, JSON.stringify(filters));
  return (
    <DataTable
      label="Trajectories"
      columns={columnsOf(rows, modelId)}
      rows={rows}
      idOf={({ id }) => id}
      nameOf={({ id }) => `trajectory ${id}`}
      selection={selection}
      pages={pages}
      toolbar={(selected, tableOf) => (
        <TrajectoryActions hone={hone} modelId={modelId} rows={selected} table={() => tableOf(selected)} />
      )}
    />
  );
}

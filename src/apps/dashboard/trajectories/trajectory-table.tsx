// Table of stored trajectories: prompt, answer, reward, and the metrics that most rows have.
import type { TrajectoryOutline } from "../../client/api.ts";
import type { Hone } from "../../client/hone.ts";
import { When } from "../components/shown.tsx";
import { type DataColumn, DataTable, textColumn } from "../components/tables/data-table.tsx";
import { useSelection } from "../components/tables/selection.tsx";
import { addressOf } from "../router.ts";
import { metricColumns } from "./list-query.ts";
import { metricText } from "./metric-text.ts";
import { TrajectoryActions } from "./trajectory-actions.tsx";

/** Maximum number of metrics, and number of those that are shown by default. */
const [metricsMax, metricsShown] = [40, 4];

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
      toolbar={(selected) => <TrajectoryActions hone={hone} modelId={modelId} rows={selected} />}
    />
  );
}

function columnsOf(
  rows: readonly TrajectoryOutline[],
  modelId: string,
): readonly DataColumn<TrajectoryOutline>[] {
  return [
    {
      name: "#",
      isNumber: true,
      sort: ({ id }) => Number(id),
      cell: ({ id }) => (
        <a href={addressOf("trajectories", [modelId, id])} data-row>
          {id}
        </a>
      ),
    },
    {
      name: "reward",
      isNumber: true,
      sort: ({ reward }) => reward,
      cell: ({ reward }) => metricText(reward),
    },
    textColumn("prompt", ({ prompt }) => prompt),
    textColumn("answer", ({ answer }) => answer),
    ...metricColumns(rows, metricsMax).map((name, index): DataColumn<TrajectoryOutline> => ({
      name,
      title: name,
      isNumber: true,
      isExtra: index >= metricsShown,
      sort: ({ metrics }) => (metrics[name] === undefined ? null : Number(metrics[name])),
      cell: ({ metrics }) => metricText(metrics[name]),
    })),
    {
      name: "tokens",
      isNumber: true,
      sort: ({ token_count: count }) => count,
      cell: ({ token_count: count }) => (count === 0 ? "" : count),
    },
    {
      name: "source",
      class: "brief",
      sort: sourceText,
      cell: (row) => <span title={sourceText(row)}>{sourceText(row)}</span>,
    },
    {
      name: "stored",
      sort: ({ recorded_at: at }) => at,
      cell: ({ recorded_at: at }) => <When at={at} />,
    },
    {
      name: "group",
      isNumber: true,
      isExtra: true,
      sort: ({ group_index: group }) => group,
      cell: ({ group_index: group }) => group + 1,
    },
    {
      name: "answers",
      isNumber: true,
      isExtra: true,
      sort: ({ reply_count: count }) => count,
      cell: ({ reply_count: count }) => count,
    },
  ];
}

/** Describes the origin of a trajectory, such as `val, version 3`. */
export function sourceText({
  source,
  split,
  step,
}: Pick<TrajectoryOutline, "source" | "split" | "step">): string {
  const from = source === "job" ? "training job" : split;
  return step === null ? from : `${from}, version ${step}`;
}

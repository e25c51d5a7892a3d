// Columns of the table of stored trajectories: prompt, answer, reward, and the metrics that most rows have.
import type { TrajectoryOutline } from "../../client/api.ts";
import { When } from "../components/shown.tsx";
import { costColumns } from "../components/tables/cost-columns.ts";
import { type DataColumn, textColumn } from "../components/tables/data-table.tsx";
import { fromHere } from "../neighbours/list-place.ts";
import { addressOf } from "../router.ts";
import { metricColumns } from "./list-query.ts";
import { metricText } from "./metric-text.ts";

/** Maximum number of metrics, and number of those that are shown by default. */
const [metricsMax, metricsShown] = [40, 4];

export function columnsOf(
  rows: readonly TrajectoryOutline[],
  modelId: string,
): readonly DataColumn<TrajectoryOutline>[] {
  return [
    {
      name: "#",
      isNumber: true,
      sort: ({ id }) => Number(id),
      cell: ({ id }) => (
        <a href={addressOf("trajectories", [modelId, id], fromHere())} data-row>
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
      cell: ({ token_count: count }) => (count === 0 ? "" : count.toLocaleString("en")),
    },
    ...costColumns(rows),
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

// Column with the cost of each row.
import type { Usage } from "../../../client/api.ts";
import { costSum, costText } from "../../../client/cost-text.ts";
import type { DataColumn } from "./data-table.tsx";

/** Returns a column of costs, or no column if no row has a cost. */
export function costColumns<Row extends Pick<Usage, "cost" | "currency">>(
  rows: readonly Row[],
): readonly DataColumn<Row>[] {
  if (costSum(rows).cost === null) return [];
  return [{ name: "cost", isNumber: true, sort: ({ cost }) => cost, cell: (row) => costText(row) ?? "" }];
}

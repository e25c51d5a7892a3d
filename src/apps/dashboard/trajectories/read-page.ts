// Reads pages of a model's stored trajectories, and the neighbours of a trajectory in a list.
import type { TrajectoryOutline } from "../../client/api.ts";
import type { Hone } from "../../client/hone.ts";
import { firstFound } from "../components/filters.ts";
import { orderedRows } from "../components/tables/data-table.tsx";
import { layoutIn } from "../components/tables/table-layout.ts";
import type { ListPlace } from "../neighbours/list-place.ts";
import { type Neighbours, neighboursAmong } from "../neighbours/neighbours.ts";
import { askedPage, type Filters } from "./list-query.ts";
import { columnsOf } from "./trajectory-columns.tsx";

export interface TrajectoryPage {
  /** Trajectories of the page, newest first. */
  readonly rows: readonly TrajectoryOutline[];
  /** Number of a trajectory. The page of older trajectories begins just after it. Null if there is no such page. */
  readonly older: string | null;
  /**
   * Number of a trajectory. The page of newer trajectories ends just before this trajectory. Null if there is no such
   * page, or none is known.
   */
  readonly newer: string | null;
}

/** Returns the page of a list that a query of the page's URL describes. */
export async function readPage(
  hone: Hone,
  modelId: string,
  query: URLSearchParams,
  signal: AbortSignal,
): Promise<TrajectoryPage> {
  const { filter, isReversed } = askedPage(query);
  const page = await firstFound(hone.trajectories.outlines(modelId, filter, { signal }).pages());
  if (page === null) return { rows: [], older: null, newer: null };
  const { data, last_id: lastId, has_more: hasMore } = page;
  const rows = isReversed ? data.toReversed() : data;
  const [first, last] = [rows[0]?.id ?? null, rows.at(-1)?.id ?? null];
  if (isReversed) return { rows, older: last ?? query.get("before"), newer: hasMore ? first : null };
  return { rows, older: hasMore ? lastId : null, newer: query.has("after") ? first : null };
}

/** Number of rows of a page that is not shown. */
const rowsAtOnce = 100;

/** Reads all trajectories that match the filters, the newest first, page by page. */
export async function* matchingRows(
  hone: Hone,
  modelId: string,
  filters: Filters,
  signal: AbortSignal,
): AsyncGenerator<readonly TrajectoryOutline[], void> {
  const { filter } = askedPage(new URLSearchParams(filters));
  const asked = { ...filter, limit: rowsAtOnce };
  for await (const { data } of hone.trajectories.outlines(modelId, asked, { signal }).pages()) yield data;
}

/**
 * Returns the neighbours of a trajectory in the list from which it was opened: a list of trajectories, or the groups of
 * a job. The list continues beyond its pages, unless the user has sorted a page.
 */
export async function trajectoryNeighbours(
  hone: Hone,
  { modelId, number }: { readonly modelId: string; readonly number: string },
  { view, parts: [jobId], query }: ListPlace,
  signal: AbortSignal,
): Promise<Neighbours> {
  if (layoutIn(query).sort !== undefined) {
    const { rows } = await readPage(hone, modelId, query, signal);
    const shown = orderedRows(rows, columnsOf(rows, modelId), layoutIn(query));
    const found = neighboursAmong(
      shown.map(({ id }) => id),
      number,
    );
    if (found !== null) return found;
  }
  const isJobs = view === "jobs";
  const unplaced = new URLSearchParams(query);
  for (const name of ["after", "before"]) unplaced.delete(name);
  const { filter } = isJobs ? { filter: { source: "job" } as const } : askedPage(unplaced);
  const [older, newer] = await Promise.all(
    (["desc", "asc"] as const).map(async (order) => {
      const asked = { ...filter, order, after: number, limit: 1 };
      const page = await firstFound(hone.trajectories.outlines(modelId, asked, { signal }).pages());
      const [row] = page?.data ?? [];
      return row === undefined || (isJobs && row.source_id !== jobId) ? null : row.id;
    }),
  );
  // The groups of a job are listed in the order of the job's data, other lists with the newest first.
  return isJobs
    ? { previous: older ?? null, next: newer ?? null }
    : { previous: newer ?? null, next: older ?? null };
}

// Converts the address of a trajectory list to the page that it shows.
import type { TrajectoryOutline } from "../../client/api.ts";
import type { OutlineFilter } from "../../client/calls/trajectory-calls.ts";
import { filtersNamed } from "../components/filters.ts";

/** Filters of the list, named as in the address and in the API. */
const filterNames = [
  "source",
  "split",
  "step",
  "reward_min",
  "reward_max",
  "recorded_from",
  "recorded_before",
] as const;
export type FilterName = (typeof filterNames)[number];
export type Filters = { readonly [Name in FilterName]?: string };

export const rowsPerPage = 50;

/** Returns the filters of an address, without empty ones. */
export function filtersIn(query: URLSearchParams): Filters {
  return filtersNamed(filterNames, query);
}

/** True if the counts tell how many trajectories match the filters. */
export function isCounted(filters: Filters): boolean {
  return Object.keys(filters).every((name) => name === "source" || name === "split" || name === "step");
}

/** Query of a page. */
export interface AskedPage {
  readonly filter: OutlineFilter;
  /** True if the page is read backwards: oldest first. */
  readonly isReversed: boolean;
}

/**
 * Returns the API query of a page. Lists are newest first; a previous page is read backwards.
 *
 * @param query of the address: the filters, and `after` or `before` with a trajectory's number
 */
export function askedPage(query: URLSearchParams): AskedPage {
  const filters = filtersIn(query);
  const numbers = (["step", "reward_min", "reward_max"] as const).flatMap((name) => {
    const value = filters[name];
    return value === undefined ? [] : [[name, Number(value)] as const];
  });
  const [after, before] = [query.get("after"), query.get("before")];
  const filter = { ...filters, ...Object.fromEntries(numbers), limit: rowsPerPage };
  const isReversed = before !== null;
  const place = isReversed ? { order: "asc", after: before } : after === null ? {} : { after };
  // Safe cast: the server validates the filters, and reports errors.
  return { filter: { ...filter, ...place } as OutlineFilter, isReversed };
}

/** Returns the most frequent metrics on the page, as columns next to the reward. */
export function metricColumns(
  rows: readonly Pick<TrajectoryOutline, "metrics">[],
  countMax: number,
): readonly string[] {
  const counts = new Map<string, number>();
  for (const { metrics } of rows)
    for (const name of Object.keys(metrics)) counts.set(name, (counts.get(name) ?? 0) + 1);
  return [...counts.entries()]
    .sort(([, a], [, b]) => b - a)
    .slice(0, countMax)
    .map(([name]) => name);
}

// Which page of a model's trajectories is shown, as the address says it.
import type { TrajectoryOutline } from "../../client/api.ts";
import type { OutlineFilter } from "../../client/calls/trajectory-calls.ts";
import { filtersNamed } from "../parts/filters.ts";

/** The filters of the list, by their names in the address and in the API. */
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

/** The filters that an address has; empty ones are none. */
export function filtersIn(query: URLSearchParams): Filters {
  return filtersNamed(filterNames, query);
}

/** Whether the counts say how many trajectories the filters let through. */
export function isCounted(filters: Filters): boolean {
  return Object.keys(filters).every((name) => name === "source" || name === "split" || name === "step");
}

/** What a list is asked for. */
export interface AskedPage {
  readonly filter: OutlineFilter;
  /** Whether it was read from its end: the oldest come first then. */
  readonly isReversed: boolean;
}

/**
 * What the API is asked for. The newest come first; a page that is gone back to is read from its end.
 *
 * @param query of the address: the filters, and `after` or `before` with the number of a trajectory
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
  // The server checks what stands in an address, and says what is wrong with it.
  return { filter: { ...filter, ...place } as OutlineFilter, isReversed };
}

/** Numbers beside the reward that the rows are shown with: the commonest of the page. */
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

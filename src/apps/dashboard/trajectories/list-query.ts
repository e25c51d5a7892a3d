// Converts the query of the page's URL to the API query for a list of trajectories.
import type { TrajectoryOutline } from "../../client/api.ts";
import type { OutlineFilter } from "../../client/calls/trajectory-calls.ts";
import { filtersNamed } from "../components/filters.ts";

/** Names of the filters, which are the same in the URL and in the API. */
const filterNames = [
  "source",
  "split",
  "step",
  "reward_min",
  "reward_max",
  "recorded_from",
  "recorded_before",
  "text",
  "metric",
  "metadata",
] as const;
export type FilterName = (typeof filterNames)[number];
export type Filters = { readonly [Name in FilterName]?: string };

export const rowsPerPage = 50;

/** Returns the non-empty filters in a URL's query. */
export function filtersIn(query: URLSearchParams): Filters {
  return filtersNamed(filterNames, query);
}

/** Returns true if the API's counts apply to these filters: they are broken down by source, split and version only. */
export function isCounted(filters: Filters): boolean {
  return Object.keys(filters).every((name) => name === "source" || name === "split" || name === "step");
}

/** API query of a page. */
export interface AskedPage {
  readonly filter: OutlineFilter;
  /** True if the API lists the oldest first. The page then shows the rows in reverse order. */
  readonly isReversed: boolean;
}

/**
 * Returns the API query of a page. The page lists the newest trajectories first. To go back to the page before a
 * trajectory, the query reads forward from it, oldest first.
 *
 * @param query query of the page's URL, with the filters, and a trajectory's number as `after` or `before`
 */
export function askedPage(query: URLSearchParams): AskedPage {
  const filters = filtersIn(query);
  const numbers = (["step", "reward_min", "reward_max"] as const).flatMap((name) => {
    const value = filters[name];
    return value === undefined ? [] : [[name, Number(value)] as const];
  });
  const [after, before] = [query.get("after"), query.get("before")];
  const filter = {
    ...filters,
    ...Object.fromEntries(numbers),
    ...(filters.metric !== undefined && { metric: partsOf(filters.metric) }),
    ...(filters.metadata !== undefined && { metadata: partsOf(filters.metadata) }),
    limit: rowsPerPage,
  };
  const isReversed = before !== null;
  const place = isReversed ? { order: "asc", after: before } : after === null ? {} : { after };
  // Safe cast: the server validates the filters and reports invalid ones.
  return { filter: { ...filter, ...place } as OutlineFilter, isReversed };
}

/** Splits the text of a field with several conditions, such as `speed>=0.5, right=1`, at its commas. */
function partsOf(text: string): readonly string[] {
  return text
    .split(",")
    .map((part) => part.trim())
    .filter((part) => part !== "");
}

/** Returns the names of the metrics that most rows have, at most `countMax`. They become columns. */
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

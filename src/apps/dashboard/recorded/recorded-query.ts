// Which page of recorded chats is shown, as the address says it.
import type { RecordedFilter } from "../../client/calls/recording-calls.ts";
import { filtersNamed } from "../parts/filters.ts";

/** The filters of the list, by their names in the address and in the API. */
export const filterNames = ["model", "project", "feedback", "since", "until", "request_id"] as const;
export type FilterName = (typeof filterNames)[number];
export type Filters = { readonly [Name in FilterName]?: string };

export const rowsPerPage = 50;

/** The filters that an address has; empty ones are none. */
export function filtersIn(query: URLSearchParams): Filters {
  return filtersNamed(filterNames, query);
}

/** What the API is asked for: the newest first, behind the place that the address has. */
export function askedPage(query: URLSearchParams): RecordedFilter {
  const after = query.get("after") ?? "";
  return { ...filtersIn(query), limit: rowsPerPage, ...(after === "" ? {} : { after }) };
}

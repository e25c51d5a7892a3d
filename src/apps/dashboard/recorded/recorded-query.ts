// Converts the address of a list of recorded chats to its API query.
import type { RecordedFilter } from "../../client/calls/recording-calls.ts";
import { filtersNamed } from "../components/filters.ts";

/** Filters of the list, named as in the address and in the API. */
export const filterNames = ["model", "project", "feedback", "since", "until", "request_id"] as const;
export type FilterName = (typeof filterNames)[number];
export type Filters = { readonly [Name in FilterName]?: string };

export const rowsPerPage = 50;

/** Returns the filters of an address, without empty ones. */
export function filtersIn(query: URLSearchParams): Filters {
  return filtersNamed(filterNames, query);
}

/** Returns the API query: newest first, after the position in the address. */
export function askedPage(query: URLSearchParams): RecordedFilter {
  const after = query.get("after") ?? "";
  return { ...filtersIn(query), limit: rowsPerPage, ...(after === "" ? {} : { after }) };
}

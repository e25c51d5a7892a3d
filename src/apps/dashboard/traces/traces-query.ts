// Converts the filters in the URL of the list of traces to a query of the API. Has no side effects.
import type { BodyOf } from "../../client/calls/calls.ts";
import { filtersNamed } from "../components/filters.ts";
import { outlineColumns } from "./read-calls.ts";

export const filterNames = ["project", "text", "name", "status", "since", "until"] as const;
export type TraceFilters = { readonly [Name in (typeof filterNames)[number]]?: string };

export const rowsPerPage = 50;

export function filtersIn(query: URLSearchParams): TraceFilters {
  return filtersNamed(filterNames, query);
}

/**
 * Returns the query for a page: the root calls, or the calls at any depth that match a name, words or a state, the newest
 * first.
 *
 * @param project full name of the project
 * @param offset number of calls before the page
 */
export function tracesQuery(
  project: string,
  { text, name, status, since, until }: TraceFilters,
  offset: number,
): BodyOf<"POST /calls/stream_query"> {
  return {
    project_id: project,
    filter: {
      trace_roots_only: text === undefined && name === undefined && status === undefined,
      // The name of a published op is part of its reference.
      ...(name !== undefined && { op_names: [name, `weave:///${project}/op/${name}:*`] }),
      ...(text !== undefined && { text }),
      // Safe cast: the server refuses other statuses.
      ...(status !== undefined && { status: status as "running" | "success" | "error" }),
      ...(since !== undefined && { started_from: since }),
      ...(until !== undefined && { started_before: until }),
    },
    sort_by: [{ field: "started_at", direction: "desc" }],
    columns: ["inputs", "output", ...outlineColumns],
    include_costs: true,
    offset,
    // The one additional call is not shown. It is there if there is a next page.
    limit: rowsPerPage + 1,
  };
}

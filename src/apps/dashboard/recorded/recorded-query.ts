// Converts the query of the page's URL to the API query for a list of recorded chats.
import type { RecordedFilter } from "../../client/calls/recording-calls.ts";
import { fullProjectName } from "../components/forms/project-name.ts";
import { filtersNamed } from "../components/filters.ts";

/** Names of the filters, which are the same in the URL and in the API. */
export const filterNames = [
  "model",
  "project",
  "feedback",
  "since",
  "until",
  "request_id",
  "metadata",
  "text",
] as const;
export type FilterName = (typeof filterNames)[number];
export type Filters = { readonly [Name in FilterName]?: string };

export const rowsPerPage = 50;

/** Returns the non-empty filters in a URL's query. */
export function filtersIn(query: URLSearchParams): Filters {
  return filtersNamed(filterNames, query);
}

/**
 * Returns the API query of a page: newest first, with the filters and the position in the URL's query.
 *
 * @param entity entity of a project that is named without one
 */
export function askedPage(query: URLSearchParams, entity: string): RecordedFilter {
  const after = query.get("after") ?? "";
  const { metadata = "", project = "", ...filters } = filtersIn(query);
  const pairs = metadata.split(",").flatMap((pair) => {
    const [name = "", ...value] = pair.split("=");
    return name.trim() === "" ? [] : [[name.trim(), value.join("=").trim()]];
  });
  return {
    ...filters,
    ...(project !== "" && { project: fullProjectName(project, entity) }),
    limit: rowsPerPage,
    ...(pairs.length > 0 && { metadata: Object.fromEntries(pairs) }),
    ...(after === "" ? {} : { after }),
  };
}

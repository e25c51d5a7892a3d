// Table of one page of a list, whose rows the user can sort, with links to the first and the next page.
import type { ComponentChildren } from "preact";
import { type ListedPage, NoRows } from "../paged-table.tsx";
import { Pager, Shown } from "../shown.tsx";
import { addressOf, place } from "../../router.ts";
import type { Loaded } from "../../use-loaded.ts";
import { DataTable, type DataTableProperties } from "./data-table.tsx";
import { layoutIn } from "./table-layout.ts";

export function DataList<Row>({
  loaded,
  columns,
  filters = {},
  none,
  ...table
}: Omit<DataTableProperties<Row>, "columns" | "rows"> & {
  readonly loaded: Loaded<ListedPage<Row>>;
  /** Columns, or a function that returns the columns for a page's rows. */
  readonly columns:
    | DataTableProperties<Row>["columns"]
    | ((rows: readonly Row[]) => DataTableProperties<Row>["columns"]);
  /** Filters of the list, which all its pages have in their URL. */
  readonly filters?: Readonly<Record<string, string>>;
  /** Returns the content that replaces an empty table. */
  readonly none: (page: ListedPage<Row>) => ComponentChildren;
}) {
  const { view, parts, query } = place.value;
  const pageAt = (more: Readonly<Record<string, string>>): string =>
    addressOf(view, parts, { ...filters, ...layoutIn(query), ...more });
  return (
    <Shown loaded={loaded}>
      {(page) => (
        <>
          {page.rows.length === 0 ? (
            loaded.failure === null && <NoRows>{none(page)}</NoRows>
          ) : (
            <DataTable
              {...table}
              pages={page.last === null && !query.has("after") ? undefined : table.pages}
              rows={page.rows}
              columns={typeof columns === "function" ? columns(page.rows) : columns}
            />
          )}
          <Pager
            first={query.has("after") ? pageAt({}) : null}
            previous={(page.before ?? null) === null ? null : pageAt({ after: page.before ?? "" })}
            next={page.last === null ? null : pageAt({ after: page.last })}
          />
        </>
      )}
    </Shown>
  );
}

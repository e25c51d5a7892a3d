// A list as a table, a page at a time.
import type { ComponentChildren } from "preact";
import type { Loaded } from "../use-loaded.ts";
import { Pager, Shown, WideTable } from "./shown.tsx";

/** A page of a list. */
export interface ListedPage<Row> {
  readonly rows: readonly Row[];
  /** Behind which row the next page begins; null where there is none. */
  readonly last: string | null;
}

/** The name of a column, which may be one of numbers; `title` explains it. */
export type Column = string | { readonly number: string; readonly title?: string };

/** A page as the server answers with it; null where it has none. */
export function listed<Row>(
  page: { readonly data: readonly Row[]; readonly has_more: boolean; readonly last_id: string | null } | null,
): ListedPage<Row> {
  return page === null
    ? { rows: [], last: null }
    : { rows: page.data, last: page.has_more ? page.last_id : null };
}

export function PagedTable<Row>({
  loaded,
  label,
  columns,
  first,
  nextOf,
  none,
  children,
}: {
  readonly loaded: Loaded<ListedPage<Row>>;
  /** Of the table, for whoever does not see it. */
  readonly label: string;
  /** The columns, or a function that chooses them for the rows of a page. */
  readonly columns: readonly Column[] | ((rows: readonly Row[]) => readonly Column[]);
  /** The address of the first page; null on it. */
  readonly first: string | null;
  /** The address of the page behind a row. */
  readonly nextOf: (last: string) => string;
  /** What stands in the place of a table without rows. */
  readonly none: (page: ListedPage<Row>) => ComponentChildren;
  /** A row as its `tr`. */
  readonly children: (row: Row, index: number, rows: readonly Row[]) => ComponentChildren;
}) {
  return (
    <Shown loaded={loaded}>
      {(page) => (
        <>
          {page.rows.length === 0 ? (
            <p>{none(page)}</p>
          ) : (
            <WideTable label={label}>
              <thead>
                <tr>{(typeof columns === "function" ? columns(page.rows) : columns).map(headOf)}</tr>
              </thead>
              <tbody>{page.rows.map(children)}</tbody>
            </WideTable>
          )}
          <Pager first={first} next={page.last === null ? null : nextOf(page.last)} />
        </>
      )}
    </Shown>
  );
}

function headOf(column: Column) {
  if (typeof column === "string")
    return (
      <th key={column} scope="col">
        {column}
      </th>
    );
  return (
    <th key={column.number} scope="col" class="number" title={column.title}>
      {column.number}
    </th>
  );
}

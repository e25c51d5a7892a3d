// Table that shows one page of a list, with links to the first and the next page.
import type { ComponentChildren } from "preact";
import type { Loaded } from "../use-loaded.ts";
import { Pager, Shown, WideTable } from "./shown.tsx";

/** A page of a list. */
export interface ListedPage<Row> {
  readonly rows: readonly Row[];
  /** Id of the last row, after which the next page begins; null on the last page. */
  readonly last: string | null;
  /** Position after which the previous page begins; empty for the first page. Absent if it is not known. */
  readonly before?: string | null;
}

/** Returns the position in the URL of a page that begins after a number of rows; empty for the first page. */
export function offsetText(offset: number): string {
  return offset <= 0 ? "" : String(offset);
}

/** Yields the rows of all pages of a list whose pages begin after a number of rows. */
export async function* pagesByOffset<Row>(
  read: (offset: number) => Promise<ListedPage<Row>>,
): AsyncGenerator<readonly Row[]> {
  for (let offset: string | null = "0"; offset !== null;) {
    const page: ListedPage<Row> = await read(Number(offset));
    yield page.rows;
    offset = page.last;
  }
}

/** Heading of a column. `number` names a column of numbers; `title` is a tooltip. */
export type Column =
  | string
  | { readonly number: string; readonly title?: string }
  | { readonly name: string; readonly title: string };

/** Converts a page of the API to a page of the table; null to an empty page. */
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
  /** Name of the table for screen readers. */
  readonly label: string;
  readonly columns: readonly Column[];
  /** URL of the first page; null if the first page is shown. */
  readonly first: string | null;
  /** Returns the URL of the page that begins after a row. */
  readonly nextOf: (last: string) => string;
  /** Returns the content that replaces an empty table. */
  readonly none: (page: ListedPage<Row>) => ComponentChildren;
  /** Returns the `tr` element of a row. */
  readonly children: (row: Row, index: number, rows: readonly Row[]) => ComponentChildren;
}) {
  return (
    <Shown loaded={loaded}>
      {(page) => (
        <>
          {page.rows.length === 0 ? (
            loaded.failure === null && <NoRows>{none(page)}</NoRows>
          ) : (
            <WideTable label={label}>
              <thead>
                <tr>{columns.map(headOf)}</tr>
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
  // A column of buttons has no heading; an empty `th` would confuse screen readers.
  if (column === "") return <td key="" />;
  if (typeof column === "string")
    return (
      <th key={column} scope="col">
        {column}
      </th>
    );
  const name = "number" in column ? column.number : column.name;
  return (
    <th key={name} scope="col" class={"number" in column ? "number" : undefined} title={column.title}>
      {name}
    </th>
  );
}

/** Shows a sentence as a paragraph, and other content as it is. */
export function NoRows({ children }: { readonly children: ComponentChildren }) {
  return typeof children === "string" ? <p class="muted">{children}</p> : <>{children}</>;
}

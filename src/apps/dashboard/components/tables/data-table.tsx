// Table whose columns the user can sort and hide. The URL contains both choices. It sorts the rows of the shown page.
import type { ComponentChildren } from "preact";
import { Menu } from "../menus/menu.tsx";
import { WideTable } from "../shown.tsx";
import { place, replaceQuery } from "../../router.ts";
import { differingTexts } from "./differing-texts.ts";
import { savedRows } from "./rows-file.ts";
import { SelectMatching } from "./select-matching.tsx";
import { SelectAll, SelectCell, type Selection } from "./selection.tsx";
import {
  changedColumns,
  directionOf,
  layoutIn,
  nextSort,
  sortedRows,
  type TableLayout,
  toggledColumns,
} from "./table-layout.ts";

export interface DataColumn<Row> {
  readonly name: string;
  /** Tooltip of the heading. Names of metrics have one, and keep their lower case. */
  readonly title?: string | undefined;
  readonly isNumber?: boolean;
  /** Class of the column's cells. */
  readonly class?: string;
  /** True if the cells contain texts of users, in any direction of writing. */
  readonly isText?: boolean;
  /** @param text the column's text of the row, without the beginning that all rows of the page share */
  readonly cell: (row: Row, text: string) => ComponentChildren;
  /** Returns the text of a row, such as its prompt; absent if the cells contain no texts of users. */
  readonly text?: (row: Row) => string;
  /** True if the column is hidden until the user adds it. */
  readonly isExtra?: boolean;
  /** Returns the value by which rows are sorted; absent if the column cannot be sorted. */
  readonly sort?: (row: Row) => number | string | null;
  /** Returns the value in a saved table; by default the text, or else the value by which rows are sorted. */
  readonly value?: (row: Row) => unknown;
}

/** Returns a column with texts of users, such as prompts. */
export function textColumn<Row>(name: string, textOf: (row: Row) => string): DataColumn<Row> {
  return { name, class: "words", isText: true, sort: textOf, text: textOf, cell: (_, text) => text };
}

export interface DataTableProperties<Row> {
  /** Name of the table for screen readers. */
  readonly label: string;
  readonly columns: readonly DataColumn<Row>[];
  readonly rows: readonly Row[];
  readonly idOf: (row: Row) => string;
  /** Selected rows. The table then has a first column of checkboxes. */
  readonly selection?: Selection<Row>;
  /** Reads all pages of the list, from the first; absent if there is only one page. */
  readonly pages?: ((signal: AbortSignal) => AsyncIterable<readonly Row[]>) | undefined;
  /** Returns the name of a row for screen readers. */
  readonly nameOf?: (row: Row) => string;
  /**
   * Returns the actions on the selected rows, which are in the order of the table.
   *
   * @param tableOf returns the values of rows in the shown columns, by the columns' names
   */
  readonly toolbar?: (
    selected: readonly Row[],
    tableOf: (rows: readonly Row[]) => readonly object[],
  ) => ComponentChildren;
}

export function DataTable<Row>({
  label,
  columns,
  rows,
  idOf,
  selection,
  pages,
  nameOf = idOf,
  toolbar,
}: DataTableProperties<Row>) {
  const layout = layoutIn(place.value.query);
  const changed = changedColumns(layout);
  const shown = columns.filter(({ name, isExtra = false }) => isExtra === changed.includes(name));
  const sorted = orderedRows(rows, columns, layout);
  const cut = new Map(
    shown.map(({ name, text }) => [name, text === undefined ? [] : differingTexts(sorted.map(text))]),
  );
  return (
    <>
      <div class="table-tools">
        {selection !== undefined &&
          toolbar?.(orderedRows(selection.among(rows), columns, layout), (chosen) =>
            savedRows(chosen, shown),
          )}
        {selection !== undefined && pages !== undefined && (
          <SelectMatching key={selection.list} rows={rows} selection={selection} pages={pages} />
        )}
        <ColumnMenu columns={columns} shown={shown} />
      </div>
      <WideTable label={label}>
        <thead>
          <tr>
            {selection !== undefined && (
              <th class="select">
                <SelectAll rows={rows} selection={selection} />
              </th>
            )}
            {shown.map((column) => (
              <Heading key={column.name} column={column} />
            ))}
          </tr>
        </thead>
        <tbody>
          {sorted.map((row, place) => (
            <tr key={idOf(row)}>
              {selection !== undefined && <SelectCell row={row} selection={selection} label={nameOf(row)} />}
              {shown.map(({ name, isNumber = false, class: named = "", isText = false, text, cell }) => (
                <td
                  key={name}
                  class={[isNumber && "number", named].filter(Boolean).join(" ") || undefined}
                  dir={isText ? "auto" : undefined}
                  title={text?.(row)}
                >
                  {cell(row, cut.get(name)?.[place] ?? "")}
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </WideTable>
    </>
  );
}

/** Returns the rows of a page in the order in which the table shows them. */
export function orderedRows<Row>(
  rows: readonly Row[],
  columns: readonly DataColumn<Row>[],
  layout: TableLayout,
): readonly Row[] {
  const sorting = columns.find(({ name }) => directionOf(layout, name) !== null);
  const direction = sorting === undefined ? null : directionOf(layout, sorting.name);
  return sorting?.sort === undefined || direction === null ? rows : sortedRows(rows, sorting.sort, direction);
}

function Heading<Row>({ column: { name, title, isNumber, sort } }: { readonly column: DataColumn<Row> }) {
  const layout = layoutIn(place.value.query);
  const direction = directionOf(layout, name);
  const onClick = (): void =>
    replaceQuery((query) => {
      const next = nextSort(layout, name);
      if (next === null) query.delete("sort");
      else query.set("sort", next);
    });
  return (
    <th
      scope="col"
      class={isNumber ? "number" : undefined}
      title={title}
      aria-sort={sort === undefined ? undefined : (direction ?? "none")}
    >
      {sort === undefined ? (
        name
      ) : (
        <button
          type="button"
          class={direction === null ? "sort" : `sort ${direction}`}
          title="Sorts the rows of this page"
          onClick={onClick}
        >
          {name}
        </button>
      )}
    </th>
  );
}

function ColumnMenu<Row>({
  columns,
  shown,
}: {
  readonly columns: readonly DataColumn<Row>[];
  readonly shown: readonly DataColumn<Row>[];
}) {
  const toggle = (name: string): void =>
    replaceQuery((query) => {
      const next = toggledColumns(layoutIn(query), name);
      if (next === null) query.delete("columns");
      else query.set("columns", next);
    });
  return (
    <Menu label="Columns">
      {columns.map((column) => {
        const isShown = shown.includes(column);
        return (
          <label key={column.name} class="check">
            <input
              type="checkbox"
              checked={isShown}
              disabled={isShown && shown.length === 1}
              onChange={() => toggle(column.name)}
            />
            {column.name}
          </label>
        );
      })}
    </Menu>
  );
}

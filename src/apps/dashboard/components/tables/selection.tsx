// Selection of rows of a table with checkboxes, for actions on several rows.
import { useState } from "preact/hooks";

export interface Selection<Row> {
  readonly isSelected: (row: Row) => boolean;
  readonly toggle: (row: Row) => void;
  /** Selects all rows, or none if all are selected. */
  readonly toggleAll: (rows: readonly Row[]) => void;
  /** Returns the selected rows of other pages too, if there are any; otherwise those of the rows that are selected. */
  readonly among: (rows: readonly Row[]) => readonly Row[];
  /** Selects rows of several pages. They stay selected while the user opens other pages of the list. */
  readonly gather: (rows: readonly Row[]) => void;
  /** True if the selection has rows of several pages. */
  readonly isGathered: boolean;
  /** Name of the list, such as its filters. */
  readonly list: string;
  readonly clear: () => void;
}

interface Selected<Row> {
  readonly list: string;
  readonly ids: ReadonlySet<string>;
  readonly gathered: readonly Row[] | null;
}

/** @param list name of the list, such as its filters; another list begins without a selection */
export function useSelection<Row>(idOf: (row: Row) => string, list = ""): Selection<Row> {
  const [state, setState] = useState<Selected<Row>>({ list, ids: new Set(), gathered: null });
  const { ids, gathered } = state.list === list ? state : { ids: new Set<string>(), gathered: null };
  const select = (chosen: Iterable<string>, rows: readonly Row[] | null): void =>
    setState({ list, ids: new Set(chosen), gathered: rows });
  const isSelected = (row: Row): boolean => ids.has(idOf(row));
  return {
    isSelected,
    toggle: (row) =>
      select(isSelected(row) ? [...ids].filter((id) => id !== idOf(row)) : [...ids, idOf(row)], gathered),
    toggleAll: (rows) => select(rows.every(isSelected) ? [] : rows.map(idOf), null),
    among: (rows) => (gathered ?? rows).filter(isSelected),
    gather: (rows) => select(rows.map(idOf), rows),
    isGathered: gathered !== null,
    list,
    clear: () => select([], null),
  };
}

/** @param label name of the row for screen readers */
export function SelectCell<Row>({
  row,
  selection,
  label,
}: {
  readonly row: Row;
  readonly selection: Selection<Row>;
  readonly label: string;
}) {
  return (
    <td class="select">
      <label>
        <input
          type="checkbox"
          aria-label={`Select ${label}`}
          checked={selection.isSelected(row)}
          onChange={() => selection.toggle(row)}
        />
      </label>
    </td>
  );
}

/** Heading of the column of checkboxes. */
export function SelectAll<Row>({
  rows,
  selection,
}: {
  readonly rows: readonly Row[];
  readonly selection: Selection<Row>;
}) {
  const count = rows.filter(selection.isSelected).length;
  return (
    <label>
      <input
        type="checkbox"
        aria-label="Select all rows of this page"
        checked={count > 0 && count === rows.length}
        onChange={() => selection.toggleAll(rows)}
      />
    </label>
  );
}

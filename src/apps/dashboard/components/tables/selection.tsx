// Selection of rows of a table with checkboxes, for actions on several rows.
import { useState } from "preact/hooks";

export interface Selection<Row> {
  readonly isSelected: (row: Row) => boolean;
  readonly toggle: (row: Row) => void;
  /** Selects all rows, or none if all are selected. */
  readonly toggleAll: (rows: readonly Row[]) => void;
  /** Returns those of the rows that are selected. */
  readonly among: (rows: readonly Row[]) => readonly Row[];
  readonly clear: () => void;
}

export function useSelection<Row>(idOf: (row: Row) => string): Selection<Row> {
  const [ids, setIds] = useState<ReadonlySet<string>>(new Set());
  const isSelected = (row: Row): boolean => ids.has(idOf(row));
  return {
    isSelected,
    toggle: (row) =>
      setIds(
        isSelected(row) ? new Set([...ids].filter((id) => id !== idOf(row))) : new Set([...ids, idOf(row)]),
      ),
    toggleAll: (rows) => setIds(rows.every(isSelected) ? new Set() : new Set(rows.map(idOf))),
    among: (rows) => rows.filter(isSelected),
    clear: () => setIds(new Set()),
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
  const count = selection.among(rows).length;
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

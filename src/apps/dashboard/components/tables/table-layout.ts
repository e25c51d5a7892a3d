// Sorted column and chosen columns of a table, which are part of the URL. Has no side effects.

/** Parameters of the URL that describe the layout of a view's table. */
export interface TableLayout {
  /** Name of the column by which rows are sorted; a minus before the name puts the largest values first. */
  readonly sort?: string;
  /** Percent-encoded names of the columns that the user has hidden or added, separated by commas. */
  readonly columns?: string;
}

export type Direction = "ascending" | "descending";

type Value = number | string | null;

export function layoutIn(query: URLSearchParams): TableLayout {
  const [sort, columns] = [query.get("sort"), query.get("columns")];
  return { ...(sort !== null && { sort }), ...(columns !== null && { columns }) };
}

/** Returns the names of the columns whose visibility differs from the default. */
export function changedColumns({ columns = "" }: TableLayout): readonly string[] {
  return columns
    .split(",")
    .filter((name) => name !== "")
    .map(decodeURIComponent);
}

/** Returns the value of `columns` after the user has hidden or shown a column; null if all have their default. */
export function toggledColumns(layout: TableLayout, name: string): string | null {
  const changed = changedColumns(layout);
  const next = changed.includes(name) ? changed.filter((other) => other !== name) : [...changed, name];
  return next.length === 0 ? null : next.map(encodeURIComponent).join();
}

/** Returns the direction in which a column is sorted; null if the rows are not sorted by it. */
export function directionOf({ sort = "" }: TableLayout, name: string): Direction | null {
  if (sort === name) return "ascending";
  return sort === `-${name}` ? "descending" : null;
}

/** Returns the next value of `sort` when the user clicks a heading: largest first, smallest first, not sorted. */
export function nextSort(layout: TableLayout, name: string): string | null {
  const direction = directionOf(layout, name);
  if (direction === null) return `-${name}`;
  return direction === "descending" ? name : null;
}

/** Returns the rows in the order of their values. Rows without a value come last in both directions. */
export function sortedRows<Row>(
  rows: readonly Row[],
  valueOf: (row: Row) => Value,
  direction: Direction,
): readonly Row[] {
  const sign = direction === "ascending" ? 1 : -1;
  return rows.toSorted((one, other) => {
    const [a, b] = [valueOf(one), valueOf(other)];
    if (a === null || b === null) return Number(a === null) - Number(b === null);
    return (
      sign * (typeof a === "number" && typeof b === "number" ? a - b : compareTexts(String(a), String(b)))
    );
  });
}

function compareTexts(one: string, other: string): number {
  return one.localeCompare(other, "en", { numeric: true });
}

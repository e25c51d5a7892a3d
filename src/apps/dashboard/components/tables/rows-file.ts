// Files of selected rows: JSON Lines, or CSV as RFC 4180 defines it.

type Row = Readonly<Record<string, unknown>>;

/** A column of a table. The first function of a row that it has, in this order, returns the value to save. */
interface SavedColumn<Item> {
  readonly name: string;
  readonly value?: (item: Item) => unknown;
  readonly text?: (item: Item) => string;
  readonly sort?: (item: Item) => number | string | null;
}

/** Returns the values of rows by the names of the columns. Leaves out columns without values, such as those of buttons. */
export function savedRows<Item>(
  rows: readonly Item[],
  columns: readonly SavedColumn<Item>[],
): readonly object[] {
  const valued = columns.flatMap(({ name, value, text, sort }) => {
    const valueOf = value ?? text ?? sort;
    return valueOf === undefined ? [] : [{ name, valueOf }];
  });
  return rows.map((row) => Object.fromEntries(valued.map(({ name, valueOf }) => [name, valueOf(row)])));
}

export function toJsonLines(rows: readonly object[]): string {
  return rows.map((row) => `${JSON.stringify(row)}\n`).join("");
}

/**
 * Returns a line with the names of all fields, and a line for each row. Objects are written as JSON. A `'` precedes
 * texts that a spreadsheet would read as formulas.
 */
export function toCsv(rows: readonly object[]): string {
  // Safe cast: the rows are parsed JSON objects.
  const all = rows as readonly Row[];
  const names = [...new Set(all.flatMap((row) => Object.keys(row)))];
  return [names, ...all.map((row) => names.map((name) => cellOf(row[name])))]
    .map((cells) => `${cells.map(quoted).join(",")}\r\n`)
    .join("");
}

function cellOf(value: unknown): string {
  if (value === null || value === undefined) return "";
  if (typeof value === "object") return JSON.stringify(value);
  if (typeof value !== "string") return JSON.stringify(value);
  return /^[=+\-@\t\r]/.test(value) ? `'${value}` : value;
}

function quoted(text: string): string {
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

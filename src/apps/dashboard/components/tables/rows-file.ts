// Files of selected rows: JSON Lines, or CSV as RFC 4180 defines it.

type Row = Readonly<Record<string, unknown>>;

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

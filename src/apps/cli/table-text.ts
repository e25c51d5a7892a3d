// Formats a table, and fits it to a width: first drops empty columns, then shortens ids and times, and finally cuts
// the longest texts.
import { cut } from "../../base/domain/service-error.ts";

const gap = 2;
/** Minimum width of a column whose texts are cut. */
const leastWidth = 10;
/** Length of a shortened id. It covers the timestamp of a version 7 UUID. Commands accept such a prefix as an id. */
const idLength = 13;
const id = /^[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}$/;
/** Matches a time in ISO 8601, so that its seconds can be dropped. */
const time = /^(\d{4}-\d\d-\d\d)T(\d\d:\d\d):[\d.]+Z$/;

type Table = readonly (readonly string[])[];

/**
 * Returns the table as text, with a line per row.
 *
 * @param table the first row has the column names; missing values are `-`
 * @param width maximum width in characters; Infinity for no limit
 */
export function tableText(table: Table, width: number): string {
  const fitted = widthOf(table) <= width ? table : fitting(table, width);
  const widths = widthsOf(fitted);
  const lines = fitted.map((row) =>
    row.map((text, column) => text.padEnd(widths[column])).join(" ".repeat(gap)),
  );
  return lines.map((line) => `${line.trimEnd()}\n`).join("");
}

function fitting([head, ...rows]: Table, width: number): Table {
  const kept = head.flatMap((_, column) => (rows.some((row) => row[column] !== "-") ? [column] : []));
  const withValues = [head, ...rows].map((row) => kept.map((column) => row[column]));
  if (widthOf(withValues) <= width) return withValues;
  const short = withValues.map((row) =>
    row.map((text) => (id.test(text) ? text.slice(0, idLength) : text.replace(time, "$1 $2"))),
  );
  const widths = widthsOf(short);
  const isCut = widths.map((_, column) => !withValues.some((row) => id.test(row[column])));
  for (let over = widthOf(short) - width; over > 0;) {
    const cuttable = widths.filter((_, column) => isCut[column]);
    const widest = widths.findIndex((one, column) => isCut[column] && one === Math.max(...cuttable));
    if (widest < 0) break;
    const next = Math.max(leastWidth, ...cuttable.filter((one) => one < widths[widest]));
    const less = Math.min(over, widths[widest] - next);
    if (less <= 0 && widths[widest] <= leastWidth) break;
    widths[widest] -= Math.max(1, less);
    over -= Math.max(1, less);
  }
  return short.map((row) => row.map((text, column) => cut(text, widths[column])));
}

function widthsOf(table: Table): number[] {
  return table[0].map((_, column) => Math.max(...table.map((row) => row[column].length)));
}

function widthOf(table: Table): number {
  return widthsOf(table).reduce((sum, width) => sum + width + gap, -gap);
}

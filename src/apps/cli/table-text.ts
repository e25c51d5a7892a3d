// Formats a table, and fits it to a width: drops empty columns, shortens ids and times, cuts the longest texts, and
// finally leaves out the last columns.
import { cutToWidth, displayWidth, padded } from "./chat/display-width.ts";

const gap = 2;
/** Minimum width of a column whose texts are cut. */
const leastWidth = 10;
/** Length of a shortened id. It covers the timestamp of a version 7 UUID. Commands accept such a prefix as an id. */
const idLength = 13;
const id = /^[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}$/;
/** Matches a time in ISO 8601, so that its seconds can be dropped. */
const time = /^(\d{4}-\d\d-\d\d)T(\d\d:\d\d):[\d.]+Z$/;

type Table = readonly (readonly string[])[];

export interface FittedTable {
  /** A line per row. */
  readonly text: string;
  /** Names of the columns for which there was no room. */
  readonly left: readonly string[];
}

/**
 * Fits a table to a width.
 *
 * @param table the first row has the column names; missing values are `-`
 * @param width maximum width in terminal cells; Infinity for no limit
 */
export function tableText(table: Table, width: number): FittedTable {
  if (widthOf(table) <= width) return { text: textOf(table), left: [] };
  const short = withoutEmptyColumns(table).map((row, index) => (index === 0 ? row : row.map(shortened)));
  // A column of shortened ids is never cut further, because commands could not find such an id.
  const idColumns = new Set(table[0].filter((_, column) => table.some((row) => id.test(row[column]))));
  for (let count = short[0].length; ; count--) {
    const part = short.map((row) => row.slice(0, count));
    const fitted = fitting(part, width, idColumns);
    if (fitted !== null || count === 1) return { text: textOf(fitted ?? part), left: short[0].slice(count) };
  }
}

function withoutEmptyColumns([head, ...rows]: Table): Table {
  const kept = head.flatMap((_, column) => (rows.some((row) => row[column] !== "-") ? [column] : []));
  return [head, ...rows].map((row) => kept.map((column) => row[column]));
}

function shortened(text: string): string {
  return id.test(text) ? text.slice(0, idLength) : text.replace(time, "$1 $2");
}

/** Returns the table with its longest texts cut; null if it does not fit even so. */
function fitting(table: Table, width: number, whole: ReadonlySet<string>): Table | null {
  const widths = [...widthsOf(table)];
  // The first column names the row, so it keeps half of the width.
  const least = widths.map((_, column) => (column === 0 ? Math.floor(width / 2) : leastWidth));
  for (let over = widthOf(table) - width; over > 0; over--) {
    const cuttable = table[0].flatMap((name, column) =>
      whole.has(name) || widths[column] <= least[column] ? [] : [column],
    );
    if (cuttable.length === 0) return null;
    widths[cuttable.reduce((widest, column) => (widths[column] > widths[widest] ? column : widest))] -= 1;
  }
  return table.map((row) => row.map((text, column) => cutToWidth(text, widths[column])));
}

function textOf(table: Table): string {
  const widths = widthsOf(table);
  return table
    .map((row) =>
      row
        .map((text, column) => padded(text, widths[column]))
        .join(" ".repeat(gap))
        .trimEnd(),
    )
    .map((line) => `${line}\n`)
    .join("");
}

function widthsOf(table: Table): readonly number[] {
  return table[0].map((_, column) => Math.max(...table.map((row) => displayWidth(row[column]))));
}

function widthOf(table: Table): number {
  return widthsOf(table).reduce((sum, width) => sum + width + gap, -gap);
}

// Renders the answers of several models side by side as lines of text. Pure.
import type { TerminalSize } from "../watch/job-view.ts";
import { padded, printable, wrapped } from "./display-width.ts";

export interface ColumnAnswer {
  readonly model: string;
  /** Answer so far. */
  readonly text: string;
  /** Finish reason and duration, or `failed`; null while the answer is in progress. */
  readonly end: string | null;
}

const gap = " │ ";
/** Minimum width of a readable column, in cells. */
const widthMin = 24;

function columnWidth(count: number, columns: number): number {
  return Math.floor((columns - 1 - gap.length * (count - 1)) / count);
}

/** True if `count` answers fit side by side into a terminal with `columns` cells per row. */
export function columnsFit(count: number, columns: number): boolean {
  return columnWidth(count, columns) >= widthMin;
}

/**
 * Returns the lines of one column per answer: the model, the text, and how the answer ended. A text that has too many
 * lines for the rows is cut at its beginning.
 */
export function renderColumns(
  answers: readonly ColumnAnswer[],
  { columns, rows }: TerminalSize,
): readonly string[] {
  const width = columnWidth(answers.length, columns);
  const texts = answers.map(({ text }) => wrapped(printable(text), width));
  const height = Math.max(...texts.map((lines) => lines.length));
  // Two rows above the text show the names and a rule. One row below it shows how the answers ended.
  const first = Math.max(0, height - Math.max(1, rows - 3));
  const line = (cells: readonly string[]): string =>
    cells
      .map((cell) => padded(cell, width))
      .join(gap)
      .trimEnd();
  const bodies = Array.from({ length: height - first }, (_, row) =>
    line(texts.map((lines) => lines[first + row] ?? "")),
  );
  return [
    line(answers.map(({ model }) => wrapped(printable(model), width)[0] ?? "")),
    answers.map(() => "─".repeat(width)).join("─┼─"),
    ...bodies,
    line(answers.map(({ end }) => (end === null ? "…" : `(${end})`))),
  ];
}

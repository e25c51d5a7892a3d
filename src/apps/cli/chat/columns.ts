// Renders answers of several models side by side as lines of text. Pure.
import type { TerminalSize } from "../watch/job-view.ts";
import { padded, printable, wrapped } from "./display-width.ts";

export interface ColumnAnswer {
  readonly model: string;
  /** Text so far. */
  readonly text: string;
  /** How the answer ended; null while it is running. */
  readonly end: string | null;
}

const gap = " │ ";
/** Minimum readable width. */
const widthMin = 24;

function columnWidth(count: number, columns: number): number {
  return Math.floor((columns - 1 - gap.length * (count - 1)) / count);
}

/** True if this many answers fit side by side. */
export function columnsFit(count: number, columns: number): boolean {
  return columnWidth(count, columns) >= widthMin;
}

/** Returns a column per answer: model, text, and how it ended. If there are more lines than rows, shows the last ones. */
export function renderColumns(
  answers: readonly ColumnAnswer[],
  { columns, rows }: TerminalSize,
): readonly string[] {
  const width = columnWidth(answers.length, columns);
  const texts = answers.map(({ text }) => wrapped(printable(text), width));
  const height = Math.max(...texts.map((lines) => lines.length));
  // Two rows are above the text, one below.
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

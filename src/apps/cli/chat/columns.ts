// Answers of several models beside each other, as lines of text. Pure.
import type { TerminalSize } from "../watch/job-view.ts";
import { padded, printable, wrapped } from "./display-width.ts";

export interface ColumnAnswer {
  readonly model: string;
  /** So far. */
  readonly text: string;
  /** How it ended; null while it is on its way. */
  readonly end: string | null;
}

const gap = " │ ";
/** Less is hard to read. */
const widthMin = 24;

function columnWidth(count: number, columns: number): number {
  return Math.floor((columns - 1 - gap.length * (count - 1)) / count);
}

/** Whether so many answers have room beside each other. */
export function columnsFit(count: number, columns: number): boolean {
  return columnWidth(count, columns) >= widthMin;
}

/** A column for each: its model, its answer, how that ended. Where there are more lines than rows the last ones of the text. */
export function renderColumns(
  answers: readonly ColumnAnswer[],
  { columns, rows }: TerminalSize,
): readonly string[] {
  const width = columnWidth(answers.length, columns);
  const texts = answers.map(({ text }) => wrapped(printable(text), width));
  const height = Math.max(...texts.map((lines) => lines.length));
  // Two lines are above the text, and one below it.
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

// Draws text charts: a bar for one value, and a curve for a series. The caller prints the lines.

const eighths = ["", "▏", "▎", "▍", "▌", "▋", "▊", "▉"];

/** Returns a bar of `width` cells, filled in proportion to a value in [0, 1]. */
export function drawBar(value: number, width: number): string {
  const filled = Math.round(Math.min(1, Math.max(0, value)) * width * 8);
  return ("█".repeat(Math.floor(filled / 8)) + (eighths[filled % 8] ?? "")).padEnd(width);
}

export interface CurveOptions {
  /** Height of the plot in lines. */
  readonly height: number;
  /** Number of cells from one point to the next. */
  readonly stride: number;
  readonly min: number;
  readonly max: number;
  /** Value at which a dashed line is drawn. */
  readonly target: number;
  /** Maximum number of points, which sets the length of the axis. */
  readonly pointCountMax: number;
}

/** Returns the lines of a curve with axes. `values` are in order, oldest first. */
export function drawCurve(values: readonly number[], options: CurveOptions): readonly string[] {
  const { height, stride, min, max, target, pointCountMax } = options;
  const rowOf = (value: number): number =>
    Math.round(((Math.min(max, Math.max(min, value)) - min) / (max - min)) * (height - 1));
  const columnCount = (pointCountMax - 1) * stride + 1;
  const grid: string[][] = Array.from({ length: height }, (_, row) =>
    Array.from({ length: columnCount }, (_, column) =>
      row === rowOf(target) && column % 2 === 0 ? "╌" : " ",
    ),
  );
  const put = (row: number, column: number, mark: string): void => {
    const line = grid[row];
    if (line !== undefined && column < columnCount) line[column] = mark;
  };
  values.forEach((value, point) => {
    const next = values[point + 1] ?? null;
    for (let step = 1; step < (next === null ? 0 : stride); step++) {
      put(rowOf(value + (((next ?? value) - value) * step) / stride), point * stride + step, "·");
    }
    put(rowOf(value), point * stride, "●");
  });
  const lines = grid
    .map(
      (line, row) => `${(min + ((max - min) * row) / (height - 1)).toFixed(2).padStart(6)} ┤${line.join("")}`,
    )
    .reverse();
  const labels = Array.from({ length: pointCountMax }, (_, point) => String(point).padEnd(stride)).join("");
  return [
    ...lines,
    `${" ".repeat(7)}└${"─".repeat(columnCount)}`,
    `${" ".repeat(8)}${labels.trimEnd()}  jobs`,
  ];
}

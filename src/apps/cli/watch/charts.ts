// Draws curves as text: a sparkline of block characters, and a chart of braille dots with its bounds.

const levels = "▁▂▃▄▅▆▇█";

/**
 * Returns a line of at most `width` cells, scaled from the lowest value to the highest. If there are more values than
 * cells, each cell shows the mean of neighbouring values.
 */
export function drawSparkline(values: readonly number[], width: number): string {
  const points = resampled(values, width);
  const { low, span } = rangeOf(points);
  return points.map((value) => levels[Math.round(((value - low) / span) * (levels.length - 1))]).join("");
}

export interface ChartSize {
  /** Height of the chart in lines. */
  readonly height: number;
  /** Width in cells, including the bounds. */
  readonly width: number;
}

/** Bits of a braille character's dots: for the left and the right column, from top to bottom. */
const dotBits = [
  [0x01, 0x02, 0x04, 0x40],
  [0x08, 0x10, 0x20, 0x80],
] as const;
const brailleStart = 0x2800;
const labelWidth = 10;

/** Returns the lines of a chart of the values, oldest first, with the greatest and the smallest value at the side. */
export function drawChart(values: readonly number[], { height, width }: ChartSize): readonly string[] {
  const cellCount = Math.max(1, width - labelWidth - 2);
  const points = resampled(values, cellCount * 2);
  const { low, span } = rangeOf(points);
  const dotRows = height * 4;
  const rowOf = (value: number): number => Math.round((1 - (value - low) / span) * (dotRows - 1));
  const cells = Array.from({ length: height }, () => new Uint8Array(cellCount));
  points.forEach((value, column) => {
    // A steep segment is drawn as a vertical line from the previous value's row.
    const from = rowOf(column === 0 ? value : points[column - 1]);
    const to = rowOf(value);
    const step = Math.sign(to - from);
    for (let row = from === to ? to : from + step; ; row += step) {
      cells[row >> 2][column >> 1] |= dotBits[column % 2 === 0 ? 0 : 1][row & 3];
      if (row === to) break;
    }
  });
  const labelOf = (row: number): string =>
    row === 0 ? shortNumber(low + span) : row === height - 1 ? shortNumber(low) : "";
  return cells.map(
    (line, row) =>
      `${labelOf(row).padStart(labelWidth)} ┤${String.fromCodePoint(...[...line].map((bits) => brailleStart + bits))}`,
  );
}

/** Formats a number in few characters, with at most five significant digits. */
export function shortNumber(value: number): string {
  const size = Math.abs(value);
  if (size !== 0 && (size < 1e-3 || size >= 1e6)) return value.toExponential(2);
  return String(Number(value.toPrecision(size < 1 ? 3 : 5)));
}

/**
 * Returns the values; if there are more than `count`, divides them into `count` equal parts and returns the parts'
 * means.
 */
function resampled(values: readonly number[], count: number): readonly number[] {
  if (values.length <= count) return values;
  return Array.from({ length: count }, (_, share) => {
    const start = Math.floor((share * values.length) / count);
    const end = Math.floor(((share + 1) * values.length) / count);
    let sum = 0;
    for (let index = start; index < end; index++) sum += values[index];
    return sum / (end - start);
  });
}

function rangeOf(values: readonly number[]): { readonly low: number; readonly span: number } {
  const low = values.reduce((one, other) => Math.min(one, other), Infinity);
  const high = values.reduce((one, other) => Math.max(one, other), -Infinity);
  // If all values are equal, they are drawn at the bottom.
  return { low, span: high > low ? high - low : 1 };
}

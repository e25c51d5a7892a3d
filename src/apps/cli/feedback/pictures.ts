// Draws charts as text: bars with names and counts, and histograms.
import { displayWidth, printable } from "../chat/display-width.ts";
import { shortNumber } from "../watch/charts.ts";

/** Blocks that fill zero to seven eighths of a cell. */
const eighths = ["", "▏", "▎", "▍", "▌", "▋", "▊", "▉"];
const levels = " ▁▂▃▄▅▆▇█";

export interface Bar {
  readonly name: string;
  readonly count: number;
}

/**
 * Returns a line per bar: the name, the count, and a bar whose length is proportional to the count.
 *
 * @param width maximum width of a line, in cells
 */
export function drawBars(bars: readonly Bar[], width: number): readonly string[] {
  const names = bars.map(({ name }) => shortened(name, Math.max(8, Math.floor(width / 3))));
  const nameWidth = Math.max(0, ...names.map(displayWidth));
  const countWidth = Math.max(0, ...bars.map(({ count }) => String(count).length));
  const greatest = Math.max(1, ...bars.map(({ count }) => count));
  const room = Math.max(4, width - nameWidth - countWidth - 4);
  return bars.map(({ count }, index) => {
    const name = names[index] + " ".repeat(nameWidth - displayWidth(names[index]));
    return `${name}  ${String(count).padStart(countWidth)}  ${drawBar((count / greatest) * room)}`;
  });
}

/** Returns a histogram on one line, with its minimum on the left and its maximum on the right. */
export function drawHistogram(
  counts: readonly number[],
  { min, max }: { readonly min: number; readonly max: number },
): string {
  const greatest = Math.max(1, ...counts);
  // Each nonempty bin gets a visible mark, however small its count.
  const cells = counts.map(
    (count) => levels[count === 0 ? 0 : Math.max(1, Math.round((count / greatest) * 8))],
  );
  return `${shortNumber(min)} ▕${cells.join("")}▏ ${shortNumber(max)}`;
}

function drawBar(cells: number): string {
  const whole = Math.floor(cells);
  const bar = "█".repeat(whole) + eighths[Math.floor((cells - whole) * 8)];
  return bar === "" && cells > 0 ? "▏" : bar;
}

/** Shortens the text to one line of at most `width` cells. */
export function shortened(text: string, width: number): string {
  const line = printable(text).replaceAll("\n", " ");
  if (displayWidth(line) <= width) return line;
  let short = "";
  for (const character of line) {
    if (displayWidth(short + character) > width - 1) break;
    short += character;
  }
  return `${short}…`;
}

// A small curve without axes for tables and cards, and the change between two numbers.
import { shortNumber, shownDifference } from "./numbers.ts";

const [width, height] = [84, 22];

/** Curve of numbers from old to new. Hidden from screen readers, because the numbers stand next to it. */
export function Sparkline({ values }: { readonly values: readonly number[] }) {
  const last = sparklinePoints(values).at(-1);
  if (last === undefined) return null;
  return (
    <svg class="sparkline" viewBox={`0 0 ${width} ${height}`} aria-hidden="true">
      <polyline points={sparklinePoints(values).join(" ")} />
      <circle cx={last[0]} cy={last[1]} r="2.2" />
    </svg>
  );
}

/** Returns the points of the curve; equal numbers lie in the middle. */
function sparklinePoints(values: readonly number[]): readonly (readonly [x: number, y: number])[] {
  const [least, most] = [Math.min(...values), Math.max(...values)];
  const edge = 3;
  return values.map((value, index) => [
    values.length === 1 ? width - edge : edge + (index * (width - 2 * edge)) / (values.length - 1),
    most === least ? height / 2 : height - edge - ((value - least) / (most - least)) * (height - 2 * edge),
  ]);
}

/** Difference between two numbers: green for an increase, red for a decrease; nothing if a number is missing. */
export function Delta({ before, after }: { readonly before: number | null; readonly after: number | null }) {
  if (before === null || after === null) return null;
  const by = shownDifference(before, after);
  const tone = by > 0 ? "delta up" : by < 0 ? "delta down" : "delta";
  return (
    <span class={tone}>
      {by > 0 ? "+" : ""}
      {shortNumber(by)}
    </span>
  );
}

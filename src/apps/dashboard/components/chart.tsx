// A curve over steps, drawn by uPlot with the value at the pointer. A table has the same numbers for screen readers.
import { useEffect, useRef, useState } from "preact/hooks";
import uPlot from "uplot";
import { theme } from "../theme.ts";
import { shortNumber } from "./numbers.ts";

export interface Curve {
  readonly label: string;
  /** Steps of the values, ascending. */
  readonly steps: readonly number[];
  readonly values: readonly number[];
}

const height = 180;
/** Maximum number of table rows. The newest are shown; the API returns all. */
const rowsMax = 200;
/** Maximum number of points that are drawn as dots; more dots would hide the curve. */
const dotsMax = 60;
/** Distances between ticks. Only integers, because steps are integers. */
const stepTicks = [1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10_000, 50_000, 100_000];

export function Chart({ curve: { label, steps, values } }: { readonly curve: Curve }) {
  const frame = useRef<HTMLDivElement>(null);
  const plot = useRef<uPlot>(null);
  const [pointed, setPointed] = useState<number | null>(null);
  // Another theme needs a new chart, because a canvas reads its colours only when it is created.
  useEffect(() => {
    const element = frame.current;
    if (element === null) return undefined;
    const made = new uPlot(optionsFor(element, setPointed), [[], []], element);
    plot.current = made;
    const resized = new ResizeObserver(() => made.setSize({ width: element.clientWidth, height }));
    resized.observe(element);
    return () => {
      resized.disconnect();
      made.destroy();
    };
  }, [theme.value]);
  useEffect(() => plot.current?.setData([[...steps], [...values]]), [theme.value, steps, values]);
  const index = pointed === null || pointed >= steps.length ? steps.length - 1 : pointed;
  return (
    <figure class="chart">
      <figcaption>
        {label} <strong>{shortNumber(values[index] ?? NaN)}</strong>{" "}
        <span class="muted">at {steps[index] ?? "–"}</span>
      </figcaption>
      <div ref={frame} class="plot" aria-hidden="true" />
      <details>
        <summary>{label} as numbers</summary>
        <table>
          <thead>
            <tr>
              <th scope="col" class="number">
                step
              </th>
              <th scope="col" class="number">
                {label}
              </th>
            </tr>
          </thead>
          <tbody>
            {steps.slice(-rowsMax).map((step, row) => (
              <tr key={step}>
                <td class="number">{step}</td>
                <td class="number">{shortNumber(values.slice(-rowsMax)[row] ?? NaN)}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </details>
    </figure>
  );
}

/** @param onPoint called with the index of the point nearest to the pointer, or null if the pointer leaves */
function optionsFor(element: HTMLElement, onPoint: (index: number | null) => void): uPlot.Options {
  const style = getComputedStyle(element);
  const line = { stroke: style.getPropertyValue("--line"), width: 1 };
  const axis: uPlot.Axis = { stroke: style.getPropertyValue("--muted"), grid: line, ticks: line };
  return {
    width: element.clientWidth,
    height,
    legend: { show: false },
    cursor: { y: false, drag: { x: false, y: false } },
    scales: { x: { time: false } },
    axes: [
      { ...axis, incrs: stepTicks },
      { ...axis, size: 60, values: (_, ticks) => ticks.map(shortNumber) },
    ],
    series: [
      {},
      {
        stroke: style.getPropertyValue("--accent"),
        width: 2,
        points: { show: ({ data: [points] }) => points.length < dotsMax },
      },
    ],
    hooks: { setCursor: [({ cursor: { idx } }) => onPoint(idx ?? null)] },
  };
}

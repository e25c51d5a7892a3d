// A curve over steps, drawn by uPlot; beside it the same numbers as a table, for who does not see it.
import { useEffect, useRef } from "preact/hooks";
import uPlot from "uplot";
import { shortNumber } from "./numbers.ts";

export interface Curve {
  readonly label: string;
  /** Steps, ascending. */
  readonly steps: readonly number[];
  readonly values: readonly number[];
}

const height = 180;
/** Rows of the table: more are read from the API. */
const rowsMax = 200;

export function Chart({ curve }: { readonly curve: Curve }) {
  const { label, steps, values } = curve;
  const frame = useRef<HTMLDivElement>(null);
  useEffect(() => {
    const element = frame.current;
    if (element === null) return undefined;
    const style = getComputedStyle(element);
    const axis = {
      stroke: style.getPropertyValue("--muted"),
      grid: { stroke: style.getPropertyValue("--line") },
    };
    const plot = new uPlot(
      {
        width: element.clientWidth,
        height,
        legend: { show: false },
        cursor: { y: false },
        scales: { x: { time: false } },
        axes: [axis, { ...axis, size: 60, values: (_, ticks) => ticks.map(shortNumber) }],
        series: [
          {},
          {
            label,
            stroke: style.getPropertyValue("--accent"),
            width: 2,
            points: { show: steps.length < 60 },
          },
        ],
      },
      [[...steps], [...values]],
      element,
    );
    const resized = new ResizeObserver(() => plot.setSize({ width: element.clientWidth, height }));
    resized.observe(element);
    return () => {
      resized.disconnect();
      plot.destroy();
    };
  }, [label, steps, values]);
  const last = values.at(-1);
  return (
    <figure class="chart">
      <figcaption>
        {label} <strong>{last === undefined ? "" : shortNumber(last)}</strong>
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
            {steps.slice(-rowsMax).map((step, index) => (
              <tr key={step}>
                <td class="number">{step}</td>
                <td class="number">{shortNumber(values.slice(-rowsMax)[index] ?? NaN)}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </details>
    </figure>
  );
}

// Draws lines with uPlot.
import type { RefObject } from "preact";
import { useEffect, useRef } from "preact/hooks";
import uPlot from "uplot";
import { theme } from "../theme.ts";
import type { ChartState } from "./chart-state.ts";
import type { Line } from "./curve.ts";
import { nearestLine, plotColumns, type PlotData } from "./plot-data.ts";
import { opacityOf, type PlotActions, plotOptions } from "./plot-options.ts";

export function Plot({
  data,
  state: { axis, isLog, zoom },
  frame,
  focused,
  onPick,
  onReset,
  ...actions
}: PlotActions & {
  readonly data: PlotData;
  readonly state: Pick<ChartState, "axis" | "isLog" | "zoom">;
  /** Element of the plot, which contains the canvas. */
  readonly frame: RefObject<HTMLDivElement | null>;
  /** Number of the run whose lines stand out; null for none. */
  readonly focused: number | null;
  /** Called with the index of the x nearest to a click, and the line nearest at this x; null if no point opens. */
  readonly onPick: ((index: number, line: Line) => void) | null;
  readonly onReset: () => void;
}) {
  const plot = useRef<uPlot>(null);
  const latest = useRef({ data, onPick, onReset, ...actions });
  latest.current = { data, onPick, onReset, ...actions };
  const shape = data.series
    .map(({ line, isFaint, edge }) => `${line.colour}${isFaint ? "-" : "+"}${edge ?? ""}`)
    .join();
  const structure = [theme.value, shape, axis, isLog, zoom?.[0], zoom?.[1]];
  // A new theme needs a new chart, because a canvas reads its colours only when it is created.
  useEffect(() => {
    const element = frame.current;
    if (element === null) return undefined;
    const options = plotOptions(
      element,
      data,
      { axis, isLog, zoom },
      {
        onPoint: (index) => latest.current.onPoint(index),
        onZoom: (range) => latest.current.onZoom(range),
      },
    );
    const made = new uPlot(options, plotColumns(data, isLog), element);
    plot.current = made;
    followPointer(made, () => latest.current);
    const resized = new ResizeObserver(() =>
      made.setSize({ width: element.clientWidth, height: element.clientHeight }),
    );
    resized.observe(element);
    return () => {
      resized.disconnect();
      made.destroy();
    };
  }, structure);
  useEffect(() => plot.current?.setData(plotColumns(data, isLog)), [...structure, data]);
  useEffect(() => {
    const [, ...drawn] = plot.current?.series ?? [];
    for (const [index, one] of data.series.entries()) {
      const series = drawn[index];
      if (series !== undefined) series.alpha = opacityOf(one, focused);
    }
    plot.current?.redraw(false);
  }, [...structure, focused]);
  return <div ref={frame} class={onPick === null ? "plot" : "plot pickable"} aria-hidden="true" />;
}

/** Passes clicks and double clicks on. The click that ends a drag is not a click on a point. */
function followPointer(
  plot: uPlot,
  handlers: () => {
    readonly data: PlotData;
    readonly onPick: ((index: number, line: Line) => void) | null;
    readonly onReset: () => void;
  },
): void {
  let downAt = 0;
  plot.over.addEventListener("mousedown", ({ clientX }) => (downAt = clientX));
  plot.over.addEventListener("click", ({ clientX }) => {
    const { idx: index, top = 0 } = plot.cursor;
    if (Math.abs(clientX - downAt) >= 5 || typeof index !== "number") return;
    const { data, onPick } = handlers();
    const line = nearestLine(data, index, top, (value) => plot.valToPos(value, "y"));
    if (line !== null) onPick?.(index, line);
  });
  plot.over.addEventListener("dblclick", () => handlers().onReset());
}

// A chart of one metric, with the values at the pointer. A table has the same numbers for screen readers.
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { Icon } from "../components/icon.tsx";
import { shortNumber } from "../components/numbers.ts";
import { differingTexts } from "../components/tables/differing-texts.ts";
import { go } from "../router.ts";
import type { ChartState } from "./chart-state.ts";
import { ChartTable } from "./chart-table.tsx";
import {
  type Axis,
  axesOf,
  type Curve,
  type Line,
  type PointAddress,
  sampleStyle,
  type StepName,
} from "./curve.ts";
import { Plot } from "./plot.tsx";
import { hiddenCount, plotData, type PlotData, type Reading, readingAt } from "./plot-data.ts";
import { metricText } from "./metric-texts.ts";
import { axisTexts } from "./plot-options.ts";
import { saveCsv, savePicture } from "./save-chart.ts";

export function Chart({
  curve,
  state,
  addressOfPoint,
  stepName,
  hiddenRepeat,
  isPinned,
  isLarge,
  onPin,
  onEnlarge,
  onZoom,
}: {
  readonly curve: Curve;
  readonly state: ChartState;
  readonly addressOfPoint: PointAddress;
  readonly stepName: StepName;
  /** Label of a curve with the same values, which is not shown; null if there is none. */
  readonly hiddenRepeat: string | null;
  readonly isPinned: boolean;
  readonly isLarge: boolean;
  /** Called with the label of the curve to pin or unpin. */
  readonly onPin: (label: string) => void;
  readonly onEnlarge: () => void;
  readonly onZoom: (zoom: readonly [number, number] | null) => void;
}) {
  const frame = useRef<HTMLDivElement>(null);
  const [pointed, setPointed] = useState<number | null>(null);
  const [focused, setFocused] = useState<number | null>(null);
  const axis: Axis = axesOf([curve]).includes(state.axis) ? state.axis : "step";
  const { smoothing } = state;
  const hasPositive = curve.lines.some(({ points }) => points.some(({ value }) => value > 0));
  const isLog = state.isLog && hasPositive;
  const data = useMemo(() => plotData(curve, { axis, smoothing }), [curve, axis, smoothing]);
  const hidden = isLog ? hiddenCount(data) : 0;
  // A chart that the address shows large may lie far below.
  useEffect(() => {
    if (isLarge) frame.current?.scrollIntoView({ block: "nearest" });
  }, [isLarge]);
  const index = pointed === null || pointed >= data.xs.length ? data.xs.length - 1 : pointed;
  const open = (at: number, { colour, points }: Line): void => {
    const point = points.find((one) => one[axis] === data.xs[at]);
    const address = point === undefined ? null : addressOfPoint(colour, point.step, curve.label);
    if (address !== null) go(address);
  };
  const isPickable = curve.lines.some(
    ({ colour, points }) => addressOfPoint(colour, points[0]?.step ?? 0, curve.label) !== null,
  );
  const meaning = metricText(curve.label);
  return (
    <figure class={isLarge ? "chart large" : "chart"}>
      <figcaption>
        <span class="chart-name">{curve.label}</span>
        <Values data={data} index={index} axis={axis} stepName={stepName} onFocus={setFocused} />
        <span class="chart-actions">
          <button
            type="button"
            class="plain"
            aria-pressed={isPinned}
            onClick={() => onPin(curve.label)}
            aria-label={`${isPinned ? "Pinned" : "Pin"} ${curve.label}`}
          >
            {isPinned ? "Pinned" : "Pin"}
          </button>
          <button
            type="button"
            class="plain icon-only"
            aria-pressed={isLarge}
            title={isLarge ? "Shrink" : "Enlarge"}
            onClick={onEnlarge}
            aria-label={`${isLarge ? "Shrink" : "Enlarge"} ${curve.label}`}
          >
            <Icon of={isLarge ? "shrink" : "enlarge"} />
          </button>
          <button
            type="button"
            class="plain"
            onClick={() => saveCsv(curve)}
            aria-label={`CSV of ${curve.label}`}
          >
            CSV
          </button>
          <button
            type="button"
            class="plain"
            onClick={() => savePicture(curve, frame.current)}
            aria-label={`PNG of ${curve.label}`}
          >
            PNG
          </button>
        </span>
        {meaning !== null && <span class="chart-meaning">{meaning}</span>}
      </figcaption>
      <Plot
        data={data}
        state={{ axis, isLog, zoom: state.zoom }}
        frame={frame}
        focused={focused}
        onPoint={setPointed}
        onPick={isPickable ? open : null}
        onZoom={onZoom}
        onReset={() => onZoom(null)}
      />
      {state.isLog && !hasPositive && <p class="muted">No value is positive, so the y axis is linear.</p>}
      {hidden > 0 && (
        <p class="muted">
          {hidden === 1 ? "1 value of 0 or less is" : `${hidden} values of 0 or less are`} not shown.
        </p>
      )}
      {hiddenRepeat !== null && (
        <p class="muted">
          {hiddenRepeat} has the same values.{" "}
          <button type="button" class="plain" onClick={() => onPin(hiddenRepeat)}>
            Show it too
          </button>
        </p>
      )}
      <ChartTable curve={curve} addressOfPoint={addressOfPoint} stepName={stepName} />
    </figure>
  );
}

/** Number of characters that remain of the beginning that the names of all lines share. */
const nameStart = 10;

/** Values of the lines at the pointer; if the pointer is outside of the charts, the last values. */
function Values({
  data,
  index,
  axis,
  stepName,
  onFocus,
}: {
  readonly data: PlotData;
  readonly index: number;
  readonly axis: Axis;
  readonly stepName: StepName;
  /** Called with the number of the run that the pointer enters, and with null if it leaves. */
  readonly onFocus: (run: number | null) => void;
}) {
  const { xs, series } = data;
  const lines = series.filter(({ isFaint }) => !isFaint);
  const at = xs[index];
  const text = at === undefined ? "–" : axisTexts[axis](at);
  const unit = axis === "step" ? `${stepName} ` : "";
  if (lines.length === 1 && lines[0]?.line.name === "")
    return (
      <span>
        <strong>{shortNumber(lines[0].values[index] ?? NaN)}</strong>{" "}
        <span class="muted">
          at {unit}
          {text}
        </span>
      </span>
    );
  const names = differingTexts(
    lines.map(({ line }) => line.name),
    nameStart,
  );
  return (
    <ul class="chart-runs">
      {lines.map(({ line, values }, place) => (
        <li
          key={line.colour}
          class="run"
          style={sampleStyle(line.colour)}
          title={line.name}
          onPointerEnter={() => onFocus(line.colour)}
          onPointerLeave={() => onFocus(null)}
        >
          {names[place]} <LineValue of={readingAt(data, { values }, index)} axis={axis} unit={unit} />
        </li>
      ))}
    </ul>
  );
}

function LineValue({
  of: { value, endedAt },
  axis,
  unit,
}: {
  readonly of: Reading;
  readonly axis: Axis;
  /** Words before the value of the axis. */
  readonly unit: string;
}) {
  return (
    <>
      <strong>{shortNumber(value ?? NaN)}</strong>
      {endedAt !== null && (
        <span class="muted">
          {" "}
          ended at {unit}
          {axisTexts[axis](endedAt)}
          {axis === "tokens" ? " tokens" : ""}
        </span>
      )}
    </>
  );
}

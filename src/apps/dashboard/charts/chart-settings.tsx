// Settings that apply to all charts of a view: smoothing, axes, zoom, and the search for curves.
import { type ChartState, smoothingMax } from "./chart-state.ts";
import { axesOf, type Curve, type StepName } from "./curve.ts";
import { flatMax } from "./group-curves.ts";
import { axisTexts } from "./plot-options.ts";

const axisNames = { time: "time since the start", tokens: "tokens trained on" } as const;

export function ChartSettings({
  curves,
  state,
  stepName,
  onDrag,
  onChange,
}: {
  readonly curves: readonly Curve[];
  readonly state: ChartState;
  readonly stepName: StepName;
  /** Called with the smoothing while the user drags the slider. */
  readonly onDrag: (smoothing: number) => void;
  readonly onChange: (change: Partial<ChartState>) => void;
}) {
  const { smoothing, isLog, axis, zoom, find } = state;
  const offered = axesOf(curves);
  return (
    <form class="filters chart-settings" aria-label="Charts" onSubmit={(event) => event.preventDefault()}>
      {(curves.length > flatMax || find !== "") && (
        <label>
          Find curves
          <input
            type="search"
            value={find}
            onInput={(event) => onChange({ find: event.currentTarget.value })}
          />
        </label>
      )}
      <label>
        Smoothing {smoothing.toFixed(2)}
        <input
          type="range"
          min={0}
          max={smoothingMax}
          step={0.01}
          value={smoothing}
          onInput={(event) => onDrag(Number(event.currentTarget.value))}
          onChange={(event) => onChange({ smoothing: Number(event.currentTarget.value) })}
        />
      </label>
      {offered.length > 1 && (
        <label>
          X axis
          <select
            value={axis}
            onChange={(event) =>
              onChange({
                axis: offered.find((name) => name === event.currentTarget.value) ?? "step",
                zoom: null,
              })
            }
          >
            {offered.map((name) => (
              <option key={name} value={name}>
                {name === "step" ? stepName : axisNames[name]}
              </option>
            ))}
          </select>
        </label>
      )}
      <label class="check">
        <input type="checkbox" checked={isLog} onChange={() => onChange({ isLog: !isLog })} /> Logarithmic
      </label>
      {zoom === null ? (
        <span class="muted chart-hint">Drag across a chart to zoom in.</span>
      ) : (
        <button type="button" onClick={() => onChange({ zoom: null })}>
          Show all (now {zoom.map((end) => axisTexts[axis](end)).join(" to ")})
        </button>
      )}
    </form>
  );
}

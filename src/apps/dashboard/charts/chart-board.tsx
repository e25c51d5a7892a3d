// The charts of a view in groups, with their settings. The page's address contains the settings.
import type { ComponentChildren } from "preact";
import { useMemo, useState } from "preact/hooks";
import { place, replaceQuery } from "../router.ts";
import { Chart } from "./chart.tsx";
import { ChartSettings } from "./chart-settings.tsx";
import { chartState, type ChartState, putChartState, toggled } from "./chart-state.ts";
import type { Curve, PointAddress, StepName } from "./curve.ts";
import { type CurveGroup, groupCurves } from "./group-curves.ts";
import { repeatedCurves } from "./repeated-curves.ts";

export function ChartBoard({
  curves,
  addressOfPoint = () => null,
  stepName = "step",
}: {
  readonly curves: readonly Curve[];
  readonly addressOfPoint?: PointAddress;
  /** Meaning of a step of the curves. */
  readonly stepName?: StepName;
}) {
  // While the user drags the slider, only this component knows the smoothing. The address gets the final value.
  const [dragged, setDragged] = useState<number | null>(null);
  const kept = chartState(place.value.query);
  const state = dragged === null ? kept : { ...kept, smoothing: dragged };
  const change = (changed: Partial<ChartState>): void => {
    setDragged(null);
    replaceQuery((query) => putChartState(query, changed));
  };
  const repeated = useMemo(() => repeatedCurves(curves), [curves]);
  const isHidden = (label: string): boolean =>
    state.find === "" && repeated.has(label) && !state.pins.includes(label);
  const groups = groupCurves(
    curves.filter(({ label }) => !isHidden(label)),
    state,
  );
  const chartsOf = (members: readonly Curve[]) => (
    <div class="charts">
      {members.map((curve) => (
        <Chart
          key={curve.label}
          curve={curve}
          state={state}
          addressOfPoint={addressOfPoint}
          stepName={stepName}
          isPinned={state.pins.includes(curve.label)}
          hiddenRepeat={
            [...repeated].find(([label, shown]) => shown === curve.label && isHidden(label))?.[0] ?? null
          }
          isLarge={state.large === curve.label}
          onPin={(label) => change({ pins: toggled(state.pins, label) })}
          onEnlarge={() => change({ large: state.large === curve.label ? "" : curve.label })}
          onZoom={(zoom) => change({ zoom })}
        />
      ))}
    </div>
  );
  return (
    <>
      <ChartSettings
        curves={curves}
        state={state}
        stepName={stepName}
        onDrag={setDragged}
        onChange={change}
      />
      {groups.length === 0 && <p>No curve matches the search.</p>}
      {groups.map((group) =>
        group.isFixed ? (
          <section key={group.name} aria-label={group.name === "" ? "Curves" : `${group.name} curves`}>
            {group.name !== "" && <h3>{group.name}</h3>}
            {chartsOf(group.curves)}
          </section>
        ) : (
          <FoldedGroup
            key={group.name}
            group={group}
            onToggle={() => change({ open: toggled(state.open, group.name) })}
          >
            {chartsOf}
          </FoldedGroup>
        ),
      )}
    </>
  );
}

/** A group that the user opens. Its charts are drawn only while it is open. */
function FoldedGroup({
  group: { name, curves, isOpen },
  onToggle,
  children,
}: {
  readonly group: CurveGroup;
  readonly onToggle: () => void;
  readonly children: (curves: readonly Curve[]) => ComponentChildren;
}) {
  return (
    <section class={isOpen ? "" : "folded"} aria-label={`Curves of ${name}`}>
      <h3 class="group-head">
        <button type="button" class="plain" aria-expanded={isOpen} onClick={onToggle}>
          {isOpen ? "▾" : "▸"} {name} <span class="muted">{curves.length}</span>
        </button>
      </h3>
      {isOpen && children(curves)}
    </section>
  );
}

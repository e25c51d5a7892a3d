// Settings of the charts of a view, which are part of the page's address.
import { type Axis, axes } from "./curve.ts";

export interface ChartState {
  /** Weight of the moving average, from 0 (raw values) to 0.99. */
  readonly smoothing: number;
  /** True for a logarithmic y axis. */
  readonly isLog: boolean;
  readonly axis: Axis;
  /** Shown part of the x axis; null for the whole. */
  readonly zoom: readonly [from: number, to: number] | null;
  /** Search text: only curves whose labels contain its words are shown; empty for all curves. */
  readonly find: string;
  /** Labels of pinned curves. */
  readonly pins: readonly string[];
  /** Names of the groups that are open. */
  readonly open: readonly string[];
  /** Label of the curve that is shown large; empty for none. */
  readonly large: string;
}

export const smoothingMax = 0.99;

/** Reads the settings in a query. Invalid values count as absent. */
export function chartState(query: URLSearchParams): ChartState {
  const number = (name: string): number => Number(query.get(name) ?? NaN);
  const [smoothing, from, to] = [number("smooth"), number("from"), number("to")];
  return {
    smoothing: Number.isFinite(smoothing) ? Math.min(smoothingMax, Math.max(0, smoothing)) : 0,
    isLog: query.get("log") === "1",
    axis: axes.find((axis) => axis === query.get("x")) ?? "step",
    zoom: Number.isFinite(from) && Number.isFinite(to) && from < to ? [from, to] : null,
    find: query.get("find") ?? "",
    pins: query.getAll("pin"),
    open: query.getAll("open"),
    large: query.get("large") ?? "",
  };
}

/** Writes changed settings into a query. Leaves out values that are the default. */
export function putChartState(query: URLSearchParams, change: Partial<ChartState>): void {
  const state = { ...chartState(query), ...change };
  const put = (name: string, values: readonly string[]): void => {
    query.delete(name);
    for (const value of values) if (value !== "") query.append(name, value);
  };
  put("smooth", [state.smoothing === 0 ? "" : String(state.smoothing)]);
  put("log", [state.isLog ? "1" : ""]);
  put("x", [state.axis === "step" ? "" : state.axis]);
  const [from = "", to = ""] = (state.zoom ?? []).map((end) => String(Number(end.toPrecision(6))));
  put("from", [from]);
  put("to", [to]);
  put("find", [state.find]);
  put("pin", state.pins);
  put("open", state.open);
  put("large", [state.large]);
}

/** Returns the list without the name, or with it if it was absent. */
export function toggled(names: readonly string[], name: string): readonly string[] {
  return names.includes(name) ? names.filter((one) => one !== name) : [...names, name];
}

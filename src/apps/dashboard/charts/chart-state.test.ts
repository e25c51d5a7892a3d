import assert from "node:assert/strict";
import { test } from "node:test";
import { chartState, putChartState, toggled } from "./chart-state.ts";

const defaults = {
  smoothing: 0,
  isLog: false,
  axis: "step",
  zoom: null,
  find: "",
  pins: [],
  open: [],
  large: "",
};

test("reads back the settings that were written, next to other parameters", () => {
  const query = new URLSearchParams("ids=a");
  const state = {
    smoothing: 0.6,
    isLog: true,
    axis: "tokens",
    zoom: [1.5, 7],
    find: "val",
    pins: ["val/reward", "loss, all"],
    open: ["time"],
    large: "val/reward",
  } as const;
  putChartState(query, state);
  assert.deepEqual(chartState(new URLSearchParams(query.toString())), state);
  assert.equal(query.get("ids"), "a");
  putChartState(query, { ...state, ...defaults, axis: "step" });
  assert.equal(query.toString(), "ids=a");
});

test("ignores invalid settings, and limits the smoothing", () => {
  assert.deepEqual(chartState(new URLSearchParams("smooth=x&x=hours&from=3&to=2&log=yes")), defaults);
  assert.equal(chartState(new URLSearchParams("smooth=7")).smoothing, 0.99);
  assert.deepEqual([toggled(["a"], "b"), toggled(["a", "b"], "a")], [["a", "b"], ["b"]]);
});

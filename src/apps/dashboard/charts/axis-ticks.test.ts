import assert from "node:assert/strict";
import { test } from "node:test";
import { tickTexts, unitTexts } from "./axis-ticks.ts";

test("shows as many digits as the distance of the ticks needs", () => {
  assert.deepEqual(tickTexts([0.0015, 0.002, 0.0025]), ["0.0015", "0.002", "0.0025"]);
  assert.deepEqual(tickTexts([0, 0.25, 0.5]), ["0", "0.25", "0.5"]);
  assert.deepEqual(tickTexts([1000, 2000]), ["1,000", "2,000"]);
  assert.deepEqual(tickTexts([2e-5, 2.5e-5]), ["2e−5", "2.5e−5"]);
  assert.deepEqual(tickTexts([12_345.5, 12_346]), ["12,345.5", "12,346"]);
  assert.deepEqual(tickTexts([0.0021]), ["0.0021"]);
});

test("shows a rounding error of zero as 0", () => {
  assert.deepEqual(tickTexts([-0.1, -1.4e-17, 0.1]), ["−0.1", "0", "0.1"]);
  assert.deepEqual(tickTexts([-0, 1]), ["0", "1"]);
});

test("shows all ticks of an x axis in the same unit", () => {
  assert.deepEqual(unitTexts("tokens", [0, 1250, 2500]), ["0", "1.25K", "2.5K"]);
  assert.deepEqual(unitTexts("time", [0, 0.5, 1]), ["0 s", "0.5 s", "1 s"]);
  assert.deepEqual(unitTexts("time", [0, 60, 120]), ["0 min", "1 min", "2 min"]);
  assert.deepEqual(unitTexts("time", [0, 5400]), ["0 h", "1.5 h"]);
  assert.deepEqual(unitTexts("time", [65, 70]), ["65 s", "70 s"]);
  assert.deepEqual(unitTexts("step", [0, 1, 2]), ["0", "1", "2"]);
});

import assert from "node:assert/strict";
import { test } from "node:test";
import { type Point, singleCurve } from "./curve.ts";
import { repeatedCurves } from "./repeated-curves.ts";

const curve = (label: string, firstStep: number, ...values: readonly number[]) =>
  singleCurve(
    label,
    values.map((value, index): Point => ({ step: firstStep + index, value, time: null, tokens: null })),
  );
const check = (...curves: readonly ReturnType<typeof curve>[]) => [...repeatedCurves(curves)];

test("finds the numbers of a job's data that clients logged too, also under other steps", () => {
  const pair = [["data/reward", "train/reward"]];
  assert.deepEqual(check(curve("train/reward", 1, 0.1, 0.3), curve("data/reward", 1, 0.1, 0.3)), pair);
  assert.deepEqual(check(curve("train/reward", 0, 0.1, 0.3, 0.5), curve("data/reward", 1, 0.1, 0.3)), pair);
  assert.deepEqual(check(curve("train/reward", 1, 0.1), curve("data/reward", 1, 0.1, 0.3)), []);
  assert.deepEqual(check(curve("train/reward", 1, 0.1, 0.3), curve("data/reward", 1, 0.1, 0.2)), []);
  assert.deepEqual(check(curve("val/reward", 1, 0.1), curve("data/reward", 1, 0.1)), []);
});

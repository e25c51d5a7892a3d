import assert from "node:assert/strict";
import { test } from "node:test";
import { drawBar, drawCurve } from "./draw-curve.ts";

test("fills a bar in proportion to the value, at a constant width", () => {
  assert.equal(drawBar(0, 4), "    ");
  assert.equal(drawBar(0.5, 4), "██  ");
  assert.equal(drawBar(1, 4), "████");
  assert.equal(drawBar(7, 4), "████");
  assert.equal(drawBar(0.33, 10).length, 10);
});

test("draws each value in its row, and the target as a dashed line", () => {
  const lines = drawCurve([0, 0.5, 1], { height: 3, stride: 2, min: 0, max: 1, target: 1, pointCountMax: 3 });
  assert.deepEqual(lines, [
    "  1.00 ┤╌ ╌·●",
    "  0.50 ┤ ·●  ",
    "  0.00 ┤●    ",
    "       └─────",
    "        0 1 2  jobs",
  ]);
});

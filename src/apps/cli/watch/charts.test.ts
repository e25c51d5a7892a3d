import assert from "node:assert/strict";
import { test } from "node:test";
import { drawChart, drawSparkline, shortNumber } from "./charts.ts";

test("draws a sparkline scaled from the lowest value to the highest", () => {
  assert.equal(drawSparkline([0, 1, 2, 3, 4, 5, 6, 7], 20), "▁▂▃▄▅▆▇█");
  assert.equal(drawSparkline([-5, 5], 20), "▁█");
  assert.equal(drawSparkline([3, 3, 3], 20), "▁▁▁");
  assert.equal(drawSparkline([], 20), "");
});

test("averages neighbouring values if there are more values than cells, and includes the last value", () => {
  assert.equal(drawSparkline([0, 2, 4, 6, 14, 14], 3), "▁▃█");
  const long = Array.from({ length: 1001 }, (_, index) => index);
  assert.equal(drawSparkline(long, 8), "▁▂▃▄▅▆▇█");
});

test("draws a chart with a column of dots per value, and its bounds at the side", () => {
  assert.deepEqual(drawChart([0, 1, 2, 3, 4, 5, 6, 7], { height: 2, width: 16 }), [
    "         7 ┤⠀⠀⡠⠊",
    "         0 ┤⡠⠊⠀⠀",
  ]);
});

test("draws a steep rise as a line without gaps", () => {
  assert.deepEqual(drawChart([0, 7], { height: 2, width: 13 }), ["         7 ┤⢸", "         0 ┤⡸"]);
});

test("fills the given width and height for any number of values", () => {
  for (const count of [1, 2, 50, 5000]) {
    const values = Array.from({ length: count }, (_, index) => Math.sin(index));
    const lines = drawChart(values, { height: 5, width: 40 });
    assert.equal(lines.length, 5);
    assert.ok(lines.every((line) => line.length === 40));
  }
  assert.equal(drawChart([1, 2], { height: 3, width: 1 }).length, 3);
});

test("shortens numbers", () => {
  assert.deepEqual([0, 5e-5, 0.0123456, 1.23456789, 12345.678, 12345678, -0.5].map(shortNumber), [
    "0",
    "5.00e-5",
    "0.0123",
    "1.2346",
    "12346",
    "1.23e+7",
    "-0.5",
  ]);
});

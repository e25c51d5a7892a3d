import assert from "node:assert/strict";
import { test } from "node:test";
import { displayWidth } from "../chat/display-width.ts";
import { drawBars, drawHistogram, shortened } from "./pictures.ts";

test("draws bars in proportion to their counts, after names padded to equal width", () => {
  const lines = drawBars(
    [
      { name: "👍", count: 8 },
      { name: "no", count: 4 },
      { name: "a name that is much too long", count: 1 },
      { name: "none", count: 0 },
    ],
    30,
  );
  assert.deepEqual(lines, [
    "👍          8  ███████████████",
    "no          4  ███████▌",
    "a name th…  1  █▉",
    "none        0  ",
  ]);
  assert.deepEqual(drawBars([], 30), []);
  for (const line of lines) assert.ok(displayWidth(line) <= 30);
});

test("draws a histogram between its bounds, with a visible mark for each nonempty bin", () => {
  assert.equal(drawHistogram([0, 1, 50, 100], { min: -1, max: 0.5 }), "-1 ▕ ▁▄█▏ 0.5");
});

test("shortens a text to one line without control characters", () => {
  assert.equal(shortened("a\nb\u001b[31mc", 20), "a b[31mc");
  assert.equal(shortened("👍👍👍", 5), "👍👍…");
});

import assert from "node:assert/strict";
import { test } from "node:test";
import { displayWidth } from "../chat/display-width.ts";
import { drawBars, drawHistogram, shortened } from "./pictures.ts";

test("bars are as long as their counts, beside names of one width", () => {
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

test("a histogram shows its range, and every part that has something", () => {
  assert.equal(drawHistogram([0, 1, 50, 100], { min: -1, max: 0.5 }), "-1 ▕ ▁▄█▏ 0.5");
});

test("a text is one line without what a terminal would take for a command", () => {
  assert.equal(shortened("a\nb\u001b[31mc", 20), "a b[31mc");
  assert.equal(shortened("👍👍👍", 5), "👍👍…");
});

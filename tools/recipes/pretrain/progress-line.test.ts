import assert from "node:assert/strict";
import { test } from "node:test";
import { createProgressLine, every } from "./progress-line.ts";
import { honeTiny, mixtureAt, optimizerAt } from "./recipe.ts";

const recipe = { ...honeTiny, tokenCount: 2e6, rowCount: 10, length: 100 };

test("a line shows the progress of the run, and the remaining time at the speed of this piece", () => {
  const print = createProgressLine(recipe, 500);
  const report = { stepCount: 501, loss: 2, gradientNorm: 0.5, learningRate: 0.002 };
  print(report, 1);
  const line = print({ ...report, stepCount: 620, loss: 1 }, 60);
  assert.match(line, /^step 620 of 2000 {2}0\.62 of 2 M tokens {2}loss 1\.9800 /);
  assert.match(line, / 2000 tokens\/s {2}11\.5 min left$/);
});

test("a periodic action is due once per period, counted from the last time it was done", () => {
  const isDue = every(10);
  assert.deepEqual([5, 10, 12, 25, 30, 35].map(isDue), [false, true, false, true, false, true]);
});

test("the learning rate rises, stays constant and falls to zero, and chats with tools become more frequent", () => {
  const rates = [0, 49, 99, 999, 1500, 2000].map((step) => optimizerAt(recipe, step).learningRate);
  const expected = [0.00002, 0.001, 0.002, 0.002, 0.001, 0];
  for (const [index, rate] of rates.entries()) assert.ok(Math.abs(rate - expected[index]) < 1e-12);
  assert.ok(mixtureAt(recipe, 399).toolChats < mixtureAt(recipe, 400).toolChats);
  assert.ok((mixtureAt(recipe, 400).factors.get("comparing") ?? 0) > 1);
});

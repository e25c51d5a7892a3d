import assert from "node:assert/strict";
import { test } from "node:test";
import type { TrainingEvent } from "../../client/api.ts";
import { stepCurves } from "./step-curves.ts";

const stepOf = (data: TrainingEvent["data"]): TrainingEvent => ({ id: "e", type: "gradient_step", data });

test("draws a curve for each metric, with the steps numbered in the order of their events", () => {
  const curves = stepCurves([
    stepOf({ loss: 2 }),
    stepOf({ loss: 1, entropy: 0.5 }),
    stepOf({ other: 7, num_datums: 3 }),
  ]);
  const shown = curves.map(({ label, lines: [line] }) => [
    label,
    line?.points.map(({ step, value }) => [step, value]),
  ]);
  assert.deepEqual(shown, [
    [
      "loss",
      [
        [1, 2],
        [2, 1],
      ],
    ],
    ["entropy", [[2, 0.5]]],
    ["other", [[3, 7]]],
  ]);
});

test("shows preference metrics before the loss", () => {
  const data = { loss: 0.5, "logps/chosen": -9, "rewards/accuracies": 1, "rewards/margins": 0.3 };
  const labels = stepCurves([stepOf(data)]).map(({ label }) => label);
  assert.deepEqual(labels, ["rewards/margins", "rewards/accuracies", "loss", "logps/chosen"]);
});

test("adds up tokens and seconds of the steps, as far as the steps report them", () => {
  const [loss] = stepCurves([
    stepOf({ loss: 1, num_tokens: 100, tokens_per_second: 50 }),
    stepOf({ loss: 1, num_tokens: 20, tokens_per_second: 40 }),
    stepOf({ loss: 1, num_tokens: 20 }),
  ]);
  assert.deepEqual(
    loss?.lines[0]?.points.map(({ time, tokens }) => [time, tokens]),
    [
      [2, 100],
      [2.5, 120],
      [null, 140],
    ],
  );
});

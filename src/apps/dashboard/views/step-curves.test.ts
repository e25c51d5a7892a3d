import assert from "node:assert/strict";
import { test } from "node:test";
import type { TrainingEvent } from "../../client/api.ts";
import { stepCurves } from "./step-curves.ts";

const stepOf = (data: TrainingEvent["data"]): TrainingEvent => ({ id: "e", type: "gradient_step", data });

test("draws a curve for each known metric, with the steps numbered in the order of their events", () => {
  const curves = stepCurves([stepOf({ loss: 2 }), stepOf({ loss: 1, entropy: 0.5 }), stepOf({ other: 7 })]);
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
  ]);
});

test("shows preference metrics before the loss", () => {
  const data = { loss: 0.5, "logps/chosen": -9, "rewards/accuracies": 1, "rewards/margins": 0.3 };
  const labels = stepCurves([stepOf(data)]).map(({ label }) => label);
  assert.deepEqual(labels, ["rewards/margins", "rewards/accuracies", "loss"]);
});

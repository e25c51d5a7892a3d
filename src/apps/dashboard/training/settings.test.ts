import assert from "node:assert/strict";
import { test } from "node:test";
import { resolvePreferenceConfig } from "../../../base/domain/preferences/preference-config.ts";
import { resolveSupervisedConfig } from "../../../base/domain/supervised/supervised-config.ts";
import { resolveTrainingConfig } from "../../../base/domain/training-config.ts";
import { movementWarning } from "../../../train/trainer/plans/plan.ts";
import { chosenIn, inWords, smallStepsWarning } from "./settings.ts";

test("assumes the server's defaults for the empty fields of a form", () => {
  assert.deepEqual(chosenIn("sft", { epochs: 3, batch_size: "4" }), {
    learningRate: resolveSupervisedConfig({}).learningRate,
    batchSize: 4,
    passes: 3,
  });
  for (const [kind, config] of [
    ["sft", resolveSupervisedConfig({})],
    ["preference", resolvePreferenceConfig({})],
  ] as const) {
    const { learningRate, batchSize, epochCount: passes } = config;
    assert.deepEqual(chosenIn(kind, { epochs: "" }), { learningRate, batchSize, passes });
  }
  const { learningRate, passCount: passes } = resolveTrainingConfig({});
  assert.deepEqual(chosenIn("rl", {}), { learningRate, batchSize: 1, passes });
  assert.equal(chosenIn("rl", { passes: "2" }).passes, 2);
});

test("warns about the same small steps as the server, in the words of the form", () => {
  const settings = { learningRate: 1e-4, batchSize: 2, passes: 1 };
  for (const exampleCount of [1, 7, 8, 9, 20]) {
    const length = Math.ceil(exampleCount / settings.batchSize);
    const steps = Array.from({ length }, () => ({ learning_rate: settings.learningRate, grad_norm: 1 }));
    const isSmall = movementWarning(steps) !== null;
    assert.equal(smallStepsWarning(settings, exampleCount) !== null, isSmall, `${exampleCount} examples`);
  }
  assert.match(smallStepsWarning(settings, 3) ?? "", /takes 2 steps at a learning rate of 0.0001,/);
  assert.equal(inWords("lower learning_rate, or batch_size"), "lower learning rate, or batch size");
});

// Compares the losses with PyTorch 2.15, whose autograd differentiated the formulas of Tinker's documentation.
import assert from "node:assert/strict";
import { test } from "node:test";
import { type LossName, lossNames, resolveLoss, sequenceLoss } from "./losses.ts";

const logprobs = Float32Array.of(-1, -0.5, -2, -0.1, -3);
const inputs = {
  logprobs: Float32Array.of(-1.5, -0.4, -1, -0.1, -3.6),
  advantages: Float32Array.of(1, -2, 0.5, 0, -1),
  sequence_ratio_mask: Float32Array.of(0, 1, 1, 0, 1),
  weights: Float32Array.of(0, 1, 2.5, -1, 0.3),
};
const options: Partial<Record<LossName, Record<string, number>>> = {
  gspo: { clip_low_threshold: 0.9, clip_high_threshold: 1.1 },
};

const expected: { readonly [Name in LossName]: readonly [loss: number, slopes: readonly number[]] } = {
  cross_entropy: [6.300000190734863, [0, -1, -2.5, 1, -0.3]],
  importance_sampling: [
    1.7991325855255127,
    [-1.6487212181091309, 1.809674859046936, -0.18393972516059875, 0, 1.8221186399459839],
  ],
  ppo: [2.2478537559509277, [0, 1.809674859046936, -0.18393972516059875, 0, 1.8221186399459839]],
  cispo: [-2.5048375129699707, [-1.2, 1.809674859046936, -0.4, 0, 1.2]],
  dro: [-1.9594999551773071, [-0.975, 1.995, -0.55, 0, 1.03]],
  gspo: [1.4302773475646973, [-0.8464816808700562, 0, -0.4232408404350281, 0, 0]],
};

for (const name of lossNames)
  test(`computes the loss ${name} and its derivatives as PyTorch does`, () => {
    const { loss, slopes } = sequenceLoss(resolveLoss(name, options[name] ?? {}), inputs, logprobs);
    const [expectedLoss, expectedSlopes] = expected[name];
    assert.ok(Math.abs(loss - expectedLoss) < 1e-5, `${loss} is not ${expectedLoss}`);
    for (const [at, slope] of expectedSlopes.entries())
      assert.ok(Math.abs(slopes[at] - slope) < 1e-5, `${at}: ${slopes[at]} is not ${slope}`);
  });

test("refuses options that a loss lacks, and values that are no numbers", () => {
  assert.throws(() => resolveLoss("ppo", { beta: 1 }), /has "beta", which the loss ppo lacks/);
  assert.throws(() => resolveLoss("dro", { beta: "1" }), /must be a finite number/);
  assert.throws(() => resolveLoss("gspo", { clip_low_threshold: 1 }), /needs clip_high_threshold/);
});

// Compares policy metrics with values calculated by hand from the formulas.
import assert from "node:assert/strict";
import { test } from "node:test";
import { type TrainingConfigInput, resolveTrainingConfig } from "../../../base/domain/training-config.ts";
import type { TrainingSequence } from "../trainer.ts";
import { type PolicyMetrics, baseMetrics, behaviorMetrics, ratioMetrics } from "./policy-metrics.ts";

/**
 * Returns a sequence of one prompt token and an answer with these recorded log-probabilities; null for unrecorded ones.
 */
function sequenceOf(old: readonly (number | null)[], advantage = 1): TrainingSequence {
  return {
    tokenIds: new Int32Array(old.length + 1),
    mask: Uint8Array.from([0, ...old.map(() => 1)]),
    oldLogprobs: Float32Array.from([NaN, ...old.map((value) => value ?? NaN)]),
    advantage,
    weight: 1,
    group: 0,
  };
}

function close(actual: PolicyMetrics, expected: Readonly<Record<string, number>>): void {
  assert.deepEqual(Object.keys(actual).sort(), Object.keys(expected).sort());
  for (const [name, value] of Object.entries(expected))
    assert.ok(
      Math.abs(actual[name] - value) <= 2e-6 * Math.max(1, Math.abs(value)),
      `${name}: ${actual[name]}`,
    );
}

// Differences of the current from the recorded log-probabilities: 0.5, -0.25 and 0 in the first sequence, and 1 for the
// first token of the second sequence. The second token there has no recorded log-probability.
const batch = [sequenceOf([-1, -1.25, -2]), sequenceOf([-3, null], -1)];
const logprobs = [
  [-0.5, -1.5, -2],
  [-2, -0.75],
];

test("the divergence from the sampling policy is k3 and k1 of the recorded tokens", () => {
  // The k3 estimates of the four recorded tokens: e^0.5 - 1.5, e^-0.25 - 0.75, 0 and e - 2.
  const k3 = (0.1487213 + 0.0288008 + 0 + 0.7182818) / 4;
  close(behaviorMetrics(batch, logprobs), { kl_div: k3, "loss/kl_div_k1": -(0.5 - 0.25 + 0 + 1) / 4 });
  assert.deepEqual(behaviorMetrics([sequenceOf([null])], [[-1]]), {});
});

test("equal policies do not diverge", () => {
  const same = batch.map(({ oldLogprobs }) => [...oldLogprobs].slice(1).map((value) => value || -1));
  close(behaviorMetrics(batch, same), { kl_div: 0, "loss/kl_div_k1": 0 });
  close(baseMetrics(same, same), { kl_policy_ref: 0, "loss/kl_policy_ref_k3": 0 });
});

test("the divergence from the base model is the mean log-ratio and k3", () => {
  // The log ratios of current to base model are 0.5 and -0.25, so the k3 estimates are e^-0.5 - 0.5 and e^0.25 - 1.25.
  const base = [[-1, -1.25]];
  close(baseMetrics([[-0.5, -1.5]], base), {
    kl_policy_ref: 0.125,
    "loss/kl_policy_ref_k3": (0.1065307 + 0.0340254) / 2,
  });
  assert.deepEqual(baseMetrics([], []), {});
});

function checkRatios(
  config: TrainingConfigInput,
  ratios: readonly number[],
  clippedFraction: number,
  p95: number,
): void {
  const metrics = ratioMetrics(batch, logprobs, resolveTrainingConfig(config));
  close(metrics, {
    "loss/importance_ratio_mean": ratios.reduce((sum, ratio) => sum + ratio, 0) / ratios.length,
    "loss/importance_ratio_p95": p95,
    "loss/importance_ratio_max": Math.max(...ratios),
    "loss/clipped_token_fraction": clippedFraction,
  });
}

test("ratios are the loss's at its level, and an unrecorded token has ratio 1", () => {
  const token = [1.6487213, 0.7788008, 1, 2.7182818, 1];
  // The 95th percentile of five values is 0.8 of the way from the fourth to the fifth.
  checkRatios({}, token, 0, 1.6487213 + 0.8 * (2.7182818 - 1.6487213));
  // The mean log ratios of the two sequences are 0.25 / 3 and 0.5.
  const [first, second] = [1.086904, 1.6487213];
  checkRatios({ importanceSamplingLevel: "sequence" }, [first, first, first, second, second], 0, second);
  const average = token.map((ratio, index) => (ratio + (index < 3 ? first : second)) / 2);
  checkRatios(
    { importanceSamplingLevel: "average" },
    average,
    0,
    average[0] + 0.8 * (average[3] - average[0]),
  );
  const geometric = token.map((ratio, index) => Math.sqrt(ratio * (index < 3 ? first : second)));
  checkRatios(
    { importanceSamplingLevel: "geometric_average" },
    geometric,
    0,
    geometric[0] + 0.8 * (geometric[3] - geometric[0]),
  );
});

test("tokens clipped by CISPO or a mask are out of bounds; with PPO only if the bound removes the gradient", () => {
  const p95 = 1.6487213 + 0.8 * (2.7182818 - 1.6487213);
  const token = [1.6487213, 0.7788008, 1, 2.7182818, 1];
  const narrow = { epsilon: 0.2, epsilonHigh: 0.2 };
  checkRatios(narrow, token, 3 / 5, p95);
  // Only the first token counts as clipped. PPO keeps the gradient of the second token (below the bounds, positive
  // advantage) and of the fourth (above the bounds, negative advantage).
  checkRatios({ ...narrow, ppo: true }, token, 1 / 5, p95);
  checkRatios({ ...narrow, ppo: true, maskProbRatio: true }, token, 3 / 5, p95);
  // The cap lowers the first and the fourth ratio to 1.1 before the bounds apply.
  checkRatios({ ...narrow, maxNegativeAdvantageImportanceSamplingWeight: 1.1 }, token, 1 / 5, p95);
});

test("a token with almost no probability gives large but finite numbers", () => {
  const extreme = [sequenceOf([-3e38, -1])];
  const current = [[-1, -3e38]];
  for (const metrics of [
    behaviorMetrics(extreme, current),
    ratioMetrics(extreme, current, resolveTrainingConfig({ importanceSamplingLevel: "average" })),
  ])
    assert.ok(Object.values(metrics).every(Number.isFinite), JSON.stringify(metrics));
  // The log ratios are clipped to 20 and -20, so the k3 estimates are e^20 - 21 and e^-20 + 19.
  const k3 = (485165195.41 - 21 + 19) / 2;
  close(behaviorMetrics(extreme, current), { kl_div: k3, "loss/kl_div_k1": 0 });
});

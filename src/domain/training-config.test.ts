import assert from "node:assert/strict";
import { test } from "node:test";
import { resolveTrainingConfig, type TrainingConfig } from "./training-config.ts";

const defaults: TrainingConfig = {
  advantageBalance: 0,
  allowTrainingWithoutLogprobs: false,
  epsilon: 1,
  epsilonHigh: 4,
  importanceSamplingLevel: "token",
  k2Tau: 0,
  klPenaltyCoefficient: 0,
  learningRate: 5e-6,
  maskProbRatio: false,
  maxNegativeAdvantageImportanceSamplingWeight: 0,
  packedSequenceLength: null,
  ppo: false,
  precalculateLogprobs: false,
  scaleRewards: true,
  truncatedImportanceSampling: 0,
};

test("what is not given, or null, takes its default; those of PPO are tighter", () => {
  const nulls = Object.fromEntries(Object.keys(defaults).map((field) => [field, null]));
  assert.deepEqual(resolveTrainingConfig({}), defaults);
  assert.deepEqual(resolveTrainingConfig(nulls), defaults);
  const ppo = { ...defaults, ppo: true, epsilon: 0.2, epsilonHigh: 0.2 };
  assert.deepEqual(resolveTrainingConfig({ ppo: true }), ppo);
  assert.deepEqual(resolveTrainingConfig({ ppo: true, epsilon: 0.1 }), {
    ...ppo,
    epsilon: 0.1,
    epsilonHigh: 0.1,
  });
});

test("what is given holds, field by field", () => {
  const given: TrainingConfig = {
    advantageBalance: -0.5,
    allowTrainingWithoutLogprobs: true,
    epsilon: 0.3,
    epsilonHigh: 0.6,
    importanceSamplingLevel: "sequence",
    k2Tau: 2,
    klPenaltyCoefficient: 0.3,
    learningRate: 0.1,
    maskProbRatio: true,
    maxNegativeAdvantageImportanceSamplingWeight: 3,
    packedSequenceLength: 512,
    ppo: true,
    precalculateLogprobs: true,
    scaleRewards: false,
    truncatedImportanceSampling: 2,
  };
  assert.deepEqual(resolveTrainingConfig(given), given);
  for (const zero of [{ epsilon: 0 }, { epsilonHigh: 0 }, { ppo: false }] satisfies Partial<TrainingConfig>[])
    assert.deepEqual(resolveTrainingConfig({ ...given, ...zero }), { ...given, ...zero });
});

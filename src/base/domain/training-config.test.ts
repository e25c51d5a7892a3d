import assert from "node:assert/strict";
import { test } from "node:test";
import { resolveTrainingConfig, type TrainingConfig } from "./training-config.ts";

const defaults: TrainingConfig = {
  advantageBalance: 0,
  allowTrainingWithoutLogprobs: false,
  basePrecision: null,
  batchSize: null,
  epsilon: 1,
  epsilonHigh: 4,
  gradientNormMax: null,
  importanceSamplingLevel: "token",
  k2Tau: 0,
  klPenaltyCoefficient: 0,
  klPenaltySource: "current_learner",
  klUpdateMax: null,
  learningRate: 1e-4,
  learningRatePower: 0,
  maskProbRatio: false,
  maxNegativeAdvantageImportanceSamplingWeight: 0,
  packedSequenceLength: null,
  passCount: 1,
  ppo: false,
  precalculateLogprobs: false,
  scaleRewards: true,
  stepCount: null,
  truncatedImportanceSampling: 0,
  weightDecay: null,
};

test("applies defaults to absent and null options, with tighter clipping for PPO", () => {
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

test("keeps every given option", () => {
  const given: TrainingConfig = {
    advantageBalance: -0.5,
    allowTrainingWithoutLogprobs: true,
    basePrecision: "int8",
    batchSize: 4,
    epsilon: 0.3,
    epsilonHigh: 0.6,
    gradientNormMax: 0.5,
    importanceSamplingLevel: "sequence",
    k2Tau: 2,
    klPenaltyCoefficient: 0.3,
    klPenaltySource: "sample",
    klUpdateMax: 2,
    learningRate: 0.1,
    learningRatePower: 0.5,
    maskProbRatio: true,
    maxNegativeAdvantageImportanceSamplingWeight: 3,
    packedSequenceLength: 512,
    passCount: 3,
    ppo: true,
    precalculateLogprobs: true,
    scaleRewards: false,
    stepCount: 7,
    truncatedImportanceSampling: 2,
    weightDecay: 0.01,
  };
  assert.deepEqual(resolveTrainingConfig(given), given);
  for (const zero of [{ epsilon: 0 }, { epsilonHigh: 0 }, { ppo: false }] satisfies Partial<TrainingConfig>[])
    assert.deepEqual(resolveTrainingConfig({ ...given, ...zero }), { ...given, ...zero });
});

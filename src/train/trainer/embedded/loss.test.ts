// Tests the losses in double precision, both as plain functions and as graph nodes; each test checks that both agree.
// Covers worked numbers, finite differences, extremes and random tokens.
import assert from "node:assert/strict";
import { test } from "node:test";
import { type TrainingConfigInput, resolveTrainingConfig } from "../../../base/domain/training-config.ts";
import { GraphBuilder } from "../../../lib/graph/builder.ts";
import type { Dense } from "../../../lib/graph/testing/dense.ts";
import { gradient } from "../../../lib/graph/gradient.ts";
import { interpret } from "../../../lib/graph/testing/interpret.ts";
import { seededRandom } from "../../../base/domain/random.ts";
import { importanceSamplingLevels } from "../../../base/domain/training-config.ts";
import { batchLoss } from "../losses/batch-loss.ts";
import type { Loss } from "../trainer.ts";
import { addLoss } from "./loss.ts";
import { searchCount, searchSeed } from "../../../base/domain/testing/search.ts";

interface Tokens {
  readonly logprobs: readonly number[];
  /** Log-probabilities under the sampling policy; null where unknown. */
  readonly oldLogprobs: readonly (number | null)[];
  readonly advantages: readonly number[];
  readonly sequences: readonly number[];
  /** Log-probabilities of the base model; needed for a KL penalty. */
  readonly reference?: readonly number[];
  /** Weight of each token; 1 if absent. */
  readonly weights?: readonly number[];
}

interface Result {
  readonly loss: number;
  readonly perToken: readonly number[];
  readonly gradient: readonly number[];
}

function compute(tokens: Tokens, input: TrainingConfigInput): Result {
  return computeLoss(tokens, { kind: "policy", config: resolveTrainingConfig(input) });
}

/** Computes the loss with graph nodes, and checks it against the plain functions. */
function computeLoss(tokens: Tokens, loss: Loss): Result {
  const result = computeGraph(tokens, loss);
  const sequences = [...new Set(tokens.sequences)].map((sequence) =>
    tokens.sequences.flatMap((each, at) => (each === sequence ? [at] : [])),
  );
  const inputs = sequences.map((places) => ({
    logprobs: places.map((at) => tokens.logprobs[at]),
    sequence: {
      mask: new Uint8Array(places.length).fill(1),
      // Passes doubles where the type says float32, because float32 would round the log-probabilities.
      oldLogprobs: Float64Array.from(
        places,
        (at) => tokens.oldLogprobs[at] ?? NaN,
      ) as unknown as Float32Array,
      referenceLogprobs: Float64Array.from(
        places,
        (at) => tokens.reference?.[at] ?? NaN,
      ) as unknown as Float32Array,
      advantage: tokens.advantages[places[0]],
      weight: 1,
      tokenWeights: Float64Array.from(places, (at) => tokens.weights?.[at] ?? 1) as unknown as Float32Array,
    },
  }));
  const { loss: value, slopes } = batchLoss(inputs, loss);
  const scale = Math.max(1, ...result.gradient.map(Math.abs));
  close([value], [result.loss], 1e-12 * Math.max(1, Math.abs(result.loss)));
  sequences.forEach((places, row) =>
    close(
      slopes[row],
      places.map((at) => result.gradient[at]),
      1e-12 * scale,
    ),
  );
  return result;
}

function computeGraph(tokens: Tokens, kind: Loss): Result {
  const builder = new GraphBuilder();
  const logprobs_N = builder.input("logprobs", "float32", ["N"]);
  const { loss, perToken_N } = addLoss(builder, logprobs_N, kind);
  assert.ok(perToken_N !== null);
  const [slope_N] = gradient(builder, loss, [logprobs_N]);
  const graph = builder.build({ loss, perToken: perToken_N, slope: slope_N });
  const list = (values: readonly number[]): Dense => ({
    dims: [values.length],
    data: Float64Array.from(values),
  });
  const sizes = [...new Set(tokens.sequences)].map(
    (sequence) => tokens.sequences.filter((each) => each === sequence).length + 1e-8,
  );
  const outputs = interpret(graph, {
    logprobs: list(tokens.logprobs),
    old_logprobs: list(tokens.oldLogprobs.map((value) => value ?? 0)),
    is_old_known: list(tokens.oldLogprobs.map((value) => (value === null ? 0 : 1))),
    advantages: list(tokens.advantages),
    loss_weights: list(
      tokens.logprobs.map((_, at) => (tokens.weights?.[at] ?? 1) / (tokens.logprobs.length + 1e-6)),
    ),
    sequence_indices: list(tokens.sequences),
    sequence_sizes: list(sizes),
    reference_logprobs: list(tokens.reference ?? []),
    kl_share: list([1 / tokens.logprobs.length]),
    kl_elsewhere: list([0]),
  });
  const data = (name: string): readonly number[] => [...(outputs[name] ?? assert.fail(name)).data];
  return { loss: data("loss")[0], perToken: data("perToken"), gradient: data("slope") };
}

const fiveTokens: Tokens = {
  logprobs: [-0.5, -1.0, -2.0, -0.1, -3.0],
  oldLogprobs: [-0.7, -0.4, -2.1, -0.1, -5.0],
  advantages: [1, 1, 1, -1, -1],
  sequences: [0, 0, 0, 1, 1],
};

function close(actual: readonly number[], expected: readonly number[], tolerance: number): void {
  expected.forEach((value, index) =>
    assert.ok(Math.abs(actual[index] - value) <= tolerance, `${index}: ${actual[index]} is not ${value}`),
  );
}

function check(
  input: TrainingConfigInput,
  loss: number,
  perToken: readonly number[],
  tokens = fiveTokens,
): void {
  const result = compute(tokens, input);
  close([result.loss], [loss], 1e-6);
  close(result.perToken, perToken, 1e-5);
}

const table: readonly (readonly [string, TrainingConfigInput, number, readonly number[]])[] = [
  ["CISPO", {}, -2.346029, [0.6107, 0.54881, 2.21034, -0.1, -15]],
  ["CISPO with epsilon", { epsilon: 0.2 }, -2.295791, [0.6107, 0.8, 2.21034, -0.1, -15]],
  ["CISPO with both", { epsilon: 0.2, epsilonHigh: 0.28 }, -0.063791, [0.6107, 0.8, 2.21034, -0.1, -3.84]],
  ["PPO", { ppo: true }, 1.107014, [-1.2, -0.54881, -1.10517, 1, 7.38906]],
  ["PPO with high", { ppo: true, epsilonHigh: 0.28 }, 1.102734, [-1.2214, -0.54881, -1.10517, 1, 7.38906]],
  [
    "sequence",
    { importanceSamplingLevel: "sequence" },
    -1.051948,
    [0.45242, 0.90484, 1.80967, -0.27183, -8.15485],
  ],
  ["average", { importanceSamplingLevel: "average" }, -2.383504, [0.53156, 0.72682, 2.01001, -0.18591, -15]],
  [
    "geometric average",
    { importanceSamplingLevel: "geometric_average" },
    -2.075923,
    [0.52564, 0.70469, 2.0, -0.16487, -13.44507],
  ],
  [
    "PPO sequence",
    { ppo: true, importanceSamplingLevel: "sequence" },
    0.54441,
    [-0.90484, -0.90484, -0.90484, 2.71828, 2.71828],
  ],
  [
    "cap",
    { maxNegativeAdvantageImportanceSamplingWeight: 2 },
    -0.546029,
    [0.6107, 0.54881, 2.21034, -0.1, -6],
  ],
  [
    "PPO cap",
    { ppo: true, maxNegativeAdvantageImportanceSamplingWeight: 2 },
    0.029203,
    [-1.2, -0.54881, -1.10517, 1, 2],
  ],
  ["mask", { maskProbRatio: true }, 0.653971, [0.6107, 0.54881, 2.21034, -0.1, 0]],
  [
    "mask before the clip",
    { epsilon: 0.2, maskProbRatio: true },
    0.224209,
    [0.6107, 0.8, 2.21034, -0.1, -2.4],
  ],
  ["PPO mask", { ppo: true, maskProbRatio: true }, 0.138966, [0, 0, -1.10517, 1, 0.8]],
  ["tau", { k2Tau: 0.1 }, -2.946306, [0.59849, 0.58174, 2.18824, -0.1, -18]],
  ["PPO tau", { ppo: true, k2Tau: 0.1 }, 1.403001, [-1.176, -0.58174, -1.09412, 1, 8.86687]],
];

for (const [name, input, loss, perToken] of table) {
  test(`gives the worked numbers of ${name}`, () => check(input, loss, perToken));
}

test("unknown old log-probabilities count as the current ones", () => {
  const unknown = { ...fiveTokens, oldLogprobs: [null, null, null, null, null] };
  check({}, 0.08, [0.5, 1, 2, -0.1, -3], unknown);
  const { gradient } = compute(unknown, { ppo: true });
  close(gradient, [-0.2, -0.2, -0.2, 0.2, 0.2], 1e-6);
});

test("gives the worked numbers of a KL penalty, which moves advantage from one token to another", () => {
  // The log ratios to the reference are 0.1, -0.2, 0.5, 0 and 0.5, with mean 0.18. The penalized advantages are
  // therefore 1.04, 1.19, 0.84, -0.91 and -1.16.
  const reference = [-0.6, -0.8, -2.5, -0.1, -3.5];
  const penalized = { ...fiveTokens, reference };
  check({ klPenaltyCoefficient: 0.5 }, -2.869219, [0.63513, 0.65309, 1.85669, -0.091, -17.4], penalized);
  const { gradient } = compute(penalized, { klPenaltyCoefficient: 0.5, ppo: true, epsilon: 9 });
  const ratios = [0.2, -0.6, 0.1, 0, 2].map(Math.exp);
  const advantages = [1.04, 1.19, 0.84, -0.91, -1.16];
  close(
    gradient,
    ratios.map((ratio, index) => (-ratio * advantages[index]) / 5),
    1e-6,
  );
});

test("a KL penalty on sampled log-probabilities compares those with the base model's", () => {
  // The log ratios to the reference are -0.1, 0.4, 0.4, 0 and -1.5, with mean -0.16. The penalized advantages are
  // therefore 0.97, 0.72, 0.72, -1.08 and -0.33.
  const penalized = { ...fiveTokens, reference: [-0.6, -0.8, -2.5, -0.1, -3.5] };
  const config = { klPenaltyCoefficient: 0.5, klPenaltySource: "sample" } as const;
  check(config, -0.495806, [0.59238, 0.395144, 1.591446, -0.108, -4.95], penalized);
});

test("PPO's gradient is the slope of its loss, at each level", () => {
  for (const importanceSamplingLevel of ["token", "sequence", "average", "geometric_average"] as const) {
    const input = { ppo: true, importanceSamplingLevel, maxNegativeAdvantageImportanceSamplingWeight: 6 };
    const { gradient } = compute(fiveTokens, input);
    assert.ok(gradient.some((slope) => slope !== 0));
    const slopes = fiveTokens.logprobs.map((_, index) => {
      const shifted = (by: number): number => {
        const logprobs = fiveTokens.logprobs.map((value, each) => (each === index ? value + by : value));
        return compute({ ...fiveTokens, logprobs }, input).loss;
      };
      return (shifted(1e-5) - shifted(-1e-5)) / 2e-5;
    });
    close(gradient, slopes, 1e-7);
  }
});

test("CISPO weighs each token's gradient by its clipped ratio", () => {
  const { gradient } = compute(fiveTokens, { epsilonHigh: 0.5 });
  const ratios = [Math.exp(0.2), Math.exp(-0.6), Math.exp(0.1), 1, 1.5];
  close(
    gradient,
    ratios.map((ratio, index) => (-ratio * fiveTokens.advantages[index]) / 5),
    1e-6,
  );
});

test("cross-entropy is the mean negative log-probability, for any old policy and advantages", () => {
  const { loss, perToken, gradient } = computeLoss(fiveTokens, { kind: "cross-entropy" });
  close([loss], [6.6 / (5 + 1e-6)], 1e-12);
  close(perToken, [0.5, 1, 2, 0.1, 3], 1e-12);
  close(gradient, [-0.2, -0.2, -0.2, -0.2, -0.2], 1e-6);
});

test("stays finite if the old policy gave a token almost no probability", () => {
  const extreme = { ...fiveTokens, oldLogprobs: [-9999, -1, -2, -0.1, -9999] };
  for (const ppo of [true, false]) {
    const { loss, gradient } = compute(extreme, { ppo });
    assert.ok([loss, ...gradient].every(Number.isFinite));
  }
});

test("functions and graph agree on random tokens for each loss configuration", () => {
  const random = seededRandom(searchSeed);
  for (let round = 0; round < searchCount(50); round++) {
    const sequences = Array.from({ length: 9 }, (_, at) => Math.floor(at / 3));
    const some = (low: number, high: number): number[] =>
      sequences.map(() => low + (high - low) * random.uniform());
    const advantages = some(-2, 2);
    const tokens = {
      sequences,
      logprobs: some(-3, 0),
      oldLogprobs: some(-3, 0).map((value) => (random.uniform() < 0.2 ? null : value)),
      reference: some(-3, 0),
      weights: some(0, 2),
      advantages: sequences.map((sequence) => advantages[sequence]),
    };
    const sometimes = (value: number): number => (random.uniform() < 0.5 ? 0 : value);
    compute(tokens, {
      epsilon: random.uniform(),
      epsilonHigh: 2 * random.uniform(),
      importanceSamplingLevel: importanceSamplingLevels[random.index(importanceSamplingLevels.length)],
      k2Tau: sometimes(0.3),
      klPenaltyCoefficient: sometimes(0.5),
      klPenaltySource: random.uniform() < 0.5 ? "sample" : "current_learner",
      maskProbRatio: random.uniform() < 0.3,
      maxNegativeAdvantageImportanceSamplingWeight: sometimes(1.5),
      ppo: random.uniform() < 0.5,
    });
  }
});

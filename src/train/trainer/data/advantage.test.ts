// Compares advantages and weights with reference values and worked examples.
import assert from "node:assert/strict";
import { test } from "node:test";
import { goldenConfig, readGoldenTraining } from "../../../../test/golden-training.ts";
import { resolveTrainingConfig } from "../../../base/domain/training-config.ts";
import { hasVariance } from "../../trajectories/centered-rewards.ts";
import { groupAdvantages, weighSequences } from "./advantage.ts";

function close(actual: readonly number[], expected: readonly number[], tolerance: number): void {
  assert.equal(actual.length, expected.length);
  expected.forEach((value, index) =>
    assert.ok(Math.abs(actual[index] - value) <= tolerance, `${index}: ${actual[index]} is not ${value}`),
  );
}

function weigh(
  rewards: readonly number[],
  tokenCounts: readonly number[],
  advantageBalance: number,
): { advantages: number[]; weights: number[] } {
  const config = resolveTrainingConfig({ advantageBalance });
  const advantages = groupAdvantages(rewards, config);
  const weighted = weighSequences(
    advantages.map((advantage, index) => ({
      advantage,
      trainableTokenCount: tokenCounts[index],
      trajectoryTokenCount: tokenCounts[index],
    })),
    config,
  );
  return { advantages: weighted.map((each) => each.advantage), weights: weighted.map((each) => each.weight) };
}

test("agrees with each reference case", () => {
  const golden = readGoldenTraining();
  const names = Object.keys(golden.cases);
  assert.equal(names.length, 21);
  for (const name of names) {
    const { config: given, advantages, weights } = golden.cases[name];
    const config = goldenConfig(given);
    const raw = [0, 1].flatMap((group) =>
      groupAdvantages(
        golden.sequences.filter((sequence) => sequence.group === group).map((sequence) => sequence.reward),
        config,
      ),
    );
    const weighted = weighSequences(
      golden.sequences.map((sequence, index) => {
        const count = sequence.assistant_mask.reduce((sum, mask) => sum + mask, 0);
        return { advantage: raw[index], trainableTokenCount: count, trajectoryTokenCount: count };
      }),
      config,
    );
    close(
      weighted.map((each) => each.advantage),
      advantages,
      1e-9,
    );
    close(
      weighted.map((each) => each.weight),
      weights,
      1e-9,
    );
  }
});

test("gives each trajectory the same mass and removes the scale of rewards", () => {
  const plain = weigh([1, 0, 0, 0.5], [10, 20, 10, 40], 0);
  close(plain.weights, [2, 1, 2, 0.5], 1e-5);
  close(plain.advantages, [1.66667, -1, -1, 0.33333], 1e-5);
  close(
    weigh([1, 0, 0, 0.5], [10, 20, 10, 40], 0.5).advantages,
    [2.22222, -0.66667, -0.66667, 0.44444],
    1e-5,
  );
});

test("a full balance removes one sign entirely", () => {
  close(weigh([1, 0, 0], [5, 5, 5], 1).advantages, [3, 0, 0], 1e-6);
  close(weigh([1, 1, 0], [5, 5, 5], -1).advantages, [0, 0, -3], 1e-6);
});

test("rewards near the largest double give finite advantages in the right proportions", () => {
  for (const scaleRewards of [true, false]) {
    const config = resolveTrainingConfig({ scaleRewards });
    const weighed = (rewards: readonly number[]): readonly number[] =>
      weighSequences(
        groupAdvantages(rewards, config).map((advantage) => ({
          advantage,
          trainableTokenCount: 5,
          trajectoryTokenCount: 5,
        })),
        config,
      ).map(({ advantage }) => advantage);
    close(weighed([1.7e308, 1.7e308, 0, 0]), [1, 1, -1, -1], 1e-9);
    close(weighed([1e308, 1e308, 1e308, -2e307]), [2 / 3, 2 / 3, 2 / 3, -2], 1e-9);
    assert.ok(weighed([Number.MAX_VALUE, 0, -Number.MAX_VALUE]).every(Number.isFinite));
  }
});

test("rewards that differ only by rounding have no variance", () => {
  const config = resolveTrainingConfig({});
  assert.deepEqual(groupAdvantages([0.1, 0.1, 0.1], config), [0, 0, 0]);
  assert.deepEqual(groupAdvantages([0.3, 0.1 + 0.2], config), [0, 0]);
  assert.deepEqual(groupAdvantages([7], config), [0]);
  assert.equal(hasVariance([0, 1.5e-12]), true);
});

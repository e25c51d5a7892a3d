import assert from "node:assert/strict";
import { test } from "node:test";
import type { Checkpoint } from "../../client/api.ts";
import { bestVersion, curvesOf, rewardColumns } from "./version-curves.ts";

const version = (step: number, metrics: Record<string, number>): Checkpoint => ({
  id: `c${step}`,
  step,
  metrics,
  created_at: "2026-01-01T00:00:00Z",
  job_id: null,
  has_optimizer_state: false,
  pinned: false,
  base_hash: null,
  adapter_hash: null,
  held: null,
});

test("draws a curve for each metric over the versions, rewards first", () => {
  const curves = curvesOf([
    version(0, {}),
    version(1, { "train/entropy": 2, "val/reward": 0.5 }),
    version(2, { "train/entropy": 1, "train/reward": 0.25 }),
    version(4, { "val/reward": 0.75, "train/kl_div": NaN }),
  ]);
  const shown = curves.map(({ label, lines: [line] }) => [
    label,
    line?.points.map(({ step, value }) => `${step}: ${value}`),
  ]);
  assert.deepEqual(shown, [
    ["val/reward", ["1: 0.5", "4: 0.75"]],
    ["train/reward", ["2: 0.25"]],
    ["train/entropy", ["1: 2", "2: 1"]],
  ]);
});

test("counts the time and the trained tokens from the first version on", () => {
  const [curve] = curvesOf([
    version(0, { "val/reward": 0 }),
    version(1, { "val/reward": 1, "data/step_trainer_tokens": 70 }),
    {
      ...version(2, { "val/reward": 2, "data/step_trainer_tokens": 30 }),
      created_at: "2026-01-01T00:01:30Z",
    },
  ]);
  assert.deepEqual(
    curve?.lines[0]?.points.map(({ time, tokens }) => [time, tokens]),
    [
      [0, 0],
      [0, 70],
      [90, 100],
    ],
  );
});

test("shows each reward that a version has in a separate column", () => {
  const columns = (...metrics: readonly Record<string, number>[]) =>
    rewardColumns(metrics.map((each, step) => version(step, each)));
  assert.deepEqual(columns({ "val/reward": 0.75 }, { "data/reward": 0.25 }), ["val/reward", "data/reward"]);
  assert.deepEqual(columns({ "data/reward": NaN }, { "loss/train": 1, "train/reward": 0 }), ["train/reward"]);
  assert.deepEqual(columns(), []);
});

test("the best version is the one with the highest reward of the first metric that differs between versions", () => {
  const versionOf = (step: number, validation: number, training: number) => ({
    step,
    metrics: { "val/reward": validation, "train/reward": training },
  });
  assert.deepEqual(bestVersion([versionOf(0, 0.2, 0.9), versionOf(1, 0.4, 0.1), versionOf(2, 0.4, 0.1)]), {
    step: 1,
    metric: "val/reward",
  });
  assert.deepEqual(bestVersion([versionOf(0, 0.2, 0.1), versionOf(1, 0.2, 0.9)]), {
    step: 1,
    metric: "train/reward",
  });
  assert.equal(bestVersion([versionOf(0, 0.2, 0.1), versionOf(1, 0.2, 0.1)]), null);
});

// Tests the metrics of logs: means, prefixes, running sums and refusals.
import assert from "node:assert/strict";
import { test } from "node:test";
import { ServiceError } from "../../base/domain/service-error.ts";
import type { Trajectory, TrajectoryGroup } from "../../base/domain/trajectory.ts";
import { logMetrics, mergedTallies, tallyLog, tallyMetrics } from "./log-metrics.ts";
import { scenarioIdsOf } from "./log-summary.ts";

function trajectory(reward: number, metrics: Trajectory["metrics"] = {}): Trajectory {
  return {
    messagesAndChoices: [],
    tools: null,
    additionalHistories: [],
    reward,
    initialPolicyVersion: null,
    finalPolicyVersion: null,
    metrics,
    metadata: {},
    logs: [],
    startTime: null,
    extra: {},
  };
}

function group(trajectories: readonly Trajectory[], rest: Partial<TrajectoryGroup> = {}): TrajectoryGroup {
  return { trajectories, exceptions: [], metadata: {}, metrics: {}, logs: [], extra: {}, ...rest };
}

function measureLog(split: string, groups: readonly TrajectoryGroup[]): Readonly<Record<string, number>> {
  return tallyMetrics(tallyLog(split, groups));
}

function check(
  split: string,
  groups: readonly TrajectoryGroup[],
  expected: Readonly<Record<string, number>>,
  earlier: Readonly<Record<string, number>> = {},
): void {
  const metrics = logMetrics(measureLog(split, groups), {
    step: 3,
    earlier,
    uniqueScenarioCount: null,
    wallClockSeconds: 12,
  });
  assert.deepEqual(metrics, { ...expected, training_step: 3, "time/wall_clock_sec": 12 });
}

const twoGroups = [
  group([trajectory(1, { correct: true, steps: 4 }), trajectory(0, { correct: false })], {
    metrics: { level: 2 },
  }),
  group([trajectory(0.5)], { exceptions: [{ type: "TimeoutError" }], metrics: { level: 4 } }),
  group([], { metrics: { level: 100 } }),
];

test("averages rewards, metrics and group metrics, and counts exceptions", () => {
  check("val", twoGroups, {
    "val/reward": 0.5,
    "val/exception_rate": 0.25,
    "val/reward_std_dev": 0.5,
    "val/correct": 0.5,
    "val/steps": 4,
    "val/group_level": 3,
    "data/step_num_scenarios": 3,
    "data/step_num_trajectories": 4,
    "data/step_num_groups_submitted": 3,
    "data/cum/num_scenarios": 3,
    "data/cum/num_trajectories": 4,
    "data/cum/num_groups_submitted": 3,
  });
});

test("counts trainable groups for the split train, and continues sums from the earlier row", () => {
  check(
    "train",
    [group([trajectory(1), trajectory(0)]), group([trajectory(1), trajectory(1)])],
    {
      "train/reward": 0.75,
      "train/exception_rate": 0,
      "train/reward_std_dev": 0.25,
      "data/step_num_scenarios": 2,
      "data/step_num_trajectories": 4,
      "data/step_num_groups_submitted": 2,
      "data/step_num_groups_trainable": 1,
      "data/cum/num_scenarios": 12,
      "data/cum/num_trajectories": 4,
      "data/cum/num_groups_submitted": 2,
      "data/cum/num_groups_trainable": 1,
      "costs/cum/all": 7,
    },
    { "data/cum/num_scenarios": 10, "costs/cum/all": 7, "val/reward": 0.2 },
  );
});

const oneTrajectory = (metrics: Trajectory["metrics"]): TrajectoryGroup[] => [
  group([trajectory(1, metrics)]),
];
const oneTrajectoryData = {
  "data/step_num_scenarios": 1,
  "data/step_num_trajectories": 1,
  "data/step_num_groups_submitted": 1,
  "data/cum/num_scenarios": 1,
  "data/cum/num_trajectories": 1,
  "data/cum/num_groups_submitted": 1,
};

test("leaves section names without a prefix only under a standard split", () => {
  const metrics = { "loss/extra": 2, "lossy/extra": 3, "test/x": 1 };
  check("val", oneTrajectory(metrics), {
    "val/reward": 1,
    "val/exception_rate": 0,
    "val/reward_std_dev": 0,
    "loss/extra": 2,
    "val/lossy/extra": 3,
    "test/x": 1,
    ...oneTrajectoryData,
  });
  check("held_out", oneTrajectory(metrics), {
    "held_out/reward": 1,
    "held_out/exception_rate": 0,
    "held_out/reward_std_dev": 0,
    "held_out/loss/extra": 2,
    "held_out/lossy/extra": 3,
    "held_out/test/x": 1,
    ...oneTrajectoryData,
  });
});

test("adds costs up to their parents and their running sums", () => {
  check(
    "test",
    oneTrajectory({ "costs/judge/input": 1, "costs/judge/output": 2, "costs/actor": 4 }),
    {
      "test/reward": 1,
      "test/exception_rate": 0,
      "test/reward_std_dev": 0,
      "costs/judge/input": 1,
      "costs/judge/output": 2,
      "costs/actor": 4,
      "costs/judge": 3,
      "costs/all": 7,
      "costs/cum/judge/input": 1,
      "costs/cum/judge/output": 2,
      "costs/cum/actor": 4,
      "costs/cum/judge": 3,
      "costs/cum/all": 17,
      ...oneTrajectoryData,
    },
    { "costs/cum/all": 10 },
  );
});

test("computes finite means and deviations of numbers near the largest", () => {
  const groups = [group([trajectory(1.7e308), trajectory(1.7e308), trajectory(-1.7e308)])];
  const metrics = measureLog("val", groups);
  assert.ok(Math.abs(metrics["val/reward"] / (1.7e308 / 3) - 1) < 1e-12);
  assert.ok(Number.isFinite(metrics["val/reward_std_dev"]) && metrics["val/reward_std_dev"] > 1e308);
  const great = measureLog("val", [group([trajectory(1e160), trajectory(3e160)])]);
  assert.ok(Math.abs(great["val/reward_std_dev"] / 1e160 - 1) < 1e-12);
  const extremes = measureLog("val", [group([1, 1, -1].map((sign) => trajectory(sign * Number.MAX_VALUE)))]);
  assert.ok(Object.values(extremes).every(Number.isFinite), JSON.stringify(extremes));
});

test("clamps sums at the largest number", () => {
  const dear = { "costs/a": 1.7e308, "costs/b/c": 1.7e308, "costs/b/d": 1.7e308 };
  const measured = measureLog("val", oneTrajectory(dear));
  assert.deepEqual([measured["costs/b"], measured["costs/all"]], [Number.MAX_VALUE, Number.MAX_VALUE]);
  const context = { step: 0, uniqueScenarioCount: null, wallClockSeconds: 0 };
  const metrics = logMetrics(measured, { ...context, earlier: { "costs/cum/a": 1.7e308 } });
  assert.equal(metrics["costs/cum/a"], Number.MAX_VALUE);
});

test("keeps the rewards despite a trajectory metric named reward", () => {
  const metrics = measureLog("val", [group([trajectory(1, { reward: 7, exception_rate: 7 })])]);
  assert.deepEqual([metrics["val/reward"], metrics["val/exception_rate"]], [1, 0]);
  const inFull = measureLog("val", oneTrajectory({ "val/reward": 7, "data/step_num_scenarios": 7 }));
  assert.deepEqual([inFull["val/reward"], inFull["data/step_num_scenarios"]], [1, 1]);
});

test("keeps a running sum despite a trajectory metric of its name", () => {
  check(
    "val",
    oneTrajectory({ "costs/cum/all": 7, "data/cum/num_scenarios": 7, "costs/judge": 1 }),
    {
      "val/reward": 1,
      "val/exception_rate": 0,
      "val/reward_std_dev": 0,
      "costs/judge": 1,
      "costs/all": 1,
      ...oneTrajectoryData,
      "costs/cum/judge": 1,
      "costs/cum/all": 3,
      "data/cum/num_scenarios": 2,
    },
    { "costs/cum/all": 2, "data/cum/num_scenarios": 1 },
  );
});

test("adds a cost to the sum of its own parts", () => {
  const metrics = measureLog("val", oneTrajectory({ "costs/a": 1, "costs/a/b": 2 }));
  assert.deepEqual([metrics["costs/a"], metrics["costs/a/b"], metrics["costs/all"]], [3, 2, 3]);
});

test("has neither a reward nor a rate for a log without trajectories", () => {
  check("val", [], {
    "val/reward_std_dev": 0,
    "data/step_num_scenarios": 0,
    "data/step_num_trajectories": 0,
    "data/step_num_groups_submitted": 0,
    "data/cum/num_scenarios": 0,
    "data/cum/num_trajectories": 0,
    "data/cum/num_groups_submitted": 0,
  });
});

test("refuses every number that is not finite and every name that begins with costs_", () => {
  const groups = [group([trajectory(Infinity, { costs_judge: 1 })], { metrics: { level: NaN } })];
  assert.throws(
    () => check("val", groups, {}),
    (error) =>
      error instanceof ServiceError &&
      error.code === "invalid" &&
      assert.deepEqual(
        error.faults.map((fault) => fault.location.slice(1).join(".")),
        ["0.metrics.level", "0.trajectories.0.reward", "0.trajectories.0.metrics.costs_judge"],
      ) === undefined,
  );
});

test("prefers a group's scenario id to those of its trajectories", () => {
  const tagged = (id: string | null): Trajectory => ({ ...trajectory(0), metadata: { scenario_id: id } });
  assert.deepEqual(
    scenarioIdsOf([
      group([tagged("a")], { metadata: { scenario_id: 7 } }),
      group([tagged("b"), tagged(null), tagged("b")]),
    ]),
    ["7", "b", "b"],
  );
});

test("combines parts of a log to the metrics of the whole", () => {
  const whole = [
    group([trajectory(1, { won: true, "costs/a": 2 }), trajectory(0)], { metrics: { level: 2 } }),
    group([trajectory(0.5, { won: false })], { exceptions: [{ type: "TimeoutError" }] }),
    group([trajectory(0.25, { "costs/a/b": 1 }), trajectory(0.75, { won: false })], {
      metrics: { level: 5 },
    }),
    group([]),
  ];
  const answers = [
    { tokenCount: 4, isCut: true },
    { tokenCount: 8, isCut: false },
    { tokenCount: null, isCut: null },
    { tokenCount: 3, isCut: false },
  ];
  for (const split of ["train", "val", "mine"]) {
    const expected = tallyMetrics(tallyLog(split, whole, answers));
    const prefix = split === "mine" ? "mine/" : `${split}/`;
    assert.deepEqual(
      [expected[`${prefix}completions/mean_length`], expected[`${prefix}completions/clipped_ratio`]],
      [5, 1 / 3],
    );
    for (let cut = 0; cut <= whole.length; cut++) {
      const parts = [
        tallyLog(split, whole.slice(0, cut), answers.slice(0, cut)),
        tallyLog(split, whole.slice(cut), answers.slice(cut)),
      ];
      const merged = tallyMetrics(mergedTallies(parts[0], parts[1]));
      assert.deepEqual(Object.keys(merged).toSorted(), Object.keys(expected).toSorted());
      for (const [name, value] of Object.entries(expected))
        assert.ok(
          Math.abs(merged[name] - value) < 1e-12,
          `${name} of ${split} cut at ${cut}: ${merged[name]}`,
        );
    }
  }
});

test("computes a finite mean of parts with rewards near the largest number", () => {
  const part = tallyLog("val", [group([trajectory(1e308), trajectory(1.5e308)])]);
  const metrics = tallyMetrics(mergedTallies(part, part));
  assert.ok(Math.abs(metrics["val/reward"] / 1.25e308 - 1) < 1e-12);
});

import assert from "node:assert/strict";
import { test } from "node:test";
import type { TrajectoryOutline } from "../../client/api.ts";
import {
  evaluationFile,
  evaluationRows,
  evaluationSummary,
  hasFewAnswers,
  meanCosts,
  measuresOf,
} from "./evaluation-rows.ts";

const outline = (prompt: string, reward: number, cost: number | null = null): TrajectoryOutline => ({
  id: `${prompt} ${reward}`,
  source: "log",
  source_id: "l",
  split: "val",
  step: 0,
  recorded_at: "2026-01-01T00:00:00Z",
  group_index: 0,
  index: 0,
  reward,
  metrics: {},
  reply_count: 1,
  token_count: 1,
  cost,
  currency: cost === null ? null : "USD",
  has_logprobs: false,
  prompt,
  answer: "",
});

const versions = [
  [outline("a", 0), outline("a", 1), outline("b", 1), outline("c", 0.5)],
  [outline("a", 1), outline("b", 0.25), outline("c", 0.5), outline("d", 9)],
];

test("compares mean rewards per prompt, in each order", () => {
  const seen = (order: "change" | "gain" | "loss") =>
    evaluationRows(versions, order).map(({ prompt, difference }) => [prompt, difference]);
  const [a, b, c, d] = [
    ["a", 0.5],
    ["b", -0.75],
    ["c", 0],
    ["d", null],
  ];
  assert.deepEqual(seen("change"), [b, a, c, d]);
  assert.deepEqual(seen("gain"), [a, c, b, d]);
  assert.deepEqual(seen("loss"), [b, c, a, d]);
  const [first] = evaluationRows(versions, "gain");
  assert.deepEqual(
    first?.cells.map((cell) => [cell?.mean, cell?.outlines.length]),
    [
      [0.5, 2],
      [1, 1],
    ],
  );
});

test("sums up over the prompts that all versions answered", () => {
  assert.deepEqual(evaluationSummary(evaluationRows(versions, "change")), {
    means: [2 / 3, 1.75 / 3],
    sharedCount: 3,
    better: 1,
    worse: 1,
    equal: 1,
  });
  assert.deepEqual(evaluationSummary([]).means, []);
});

test("recognizes an evaluation with few answers per prompt", () => {
  const answers = (count: number) => Array.from({ length: count }, (_, index) => outline("a", index));
  assert.ok(hasFewAnswers(evaluationRows(versions, "change")));
  assert.ok(!hasFewAnswers(evaluationRows([answers(4), answers(5)], "change")));
  assert.ok(!hasFewAnswers([]));
});

test("averages the known costs of each version's trajectories", () => {
  const costly = [[outline("a", 0, 0.5), outline("b", 1, 1.5), outline("b", 1)], [outline("a", 1)]];
  assert.deepEqual(meanCosts(evaluationRows(costly, "change")), [
    { cost: 1, currency: "USD" },
    { cost: null, currency: null },
  ]);
});

test("compares another metric, and writes the comparison as rows of a file", () => {
  const measured = (prompt: string, metrics: TrajectoryOutline["metrics"]) => ({
    ...outline(prompt, 1),
    metrics,
  });
  const all = [
    [measured("a", { right: true, turns: 2 }), measured("a", { right: false }), measured("b", {})],
    [measured("a", { turns: 5 })],
  ];
  assert.deepEqual(measuresOf(all), ["reward", "right", "turns"]);
  assert.deepEqual(evaluationFile(evaluationRows(all, "change", "right"), [1, 3], "right"), [
    {
      prompt: "a",
      "right of version 1": 0.5,
      "trajectories of version 1": 2,
      "right of version 3": null,
      "trajectories of version 3": 0,
      difference: null,
    },
    {
      prompt: "b",
      "right of version 1": null,
      "trajectories of version 1": 0,
      "right of version 3": null,
      "trajectories of version 3": 0,
      difference: null,
    },
  ]);
  assert.equal(evaluationRows(all, "change", "turns")[0]?.difference, 3);
});

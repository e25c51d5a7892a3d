import assert from "node:assert/strict";
import { test } from "node:test";
import type { TrainingJob } from "../../client/api.ts";
import { jobGroups, newSettings, suggestedRate } from "./again.ts";

test("rebuilds the groups of a request from exported lines", () => {
  const stored = {
    source: "job",
    source_id: "j",
    split: "train",
    step: 1,
    recorded_at: "2026",
    group_index: 0,
  };
  const groups = [
    { ...stored, trajectory_count: 2, metadata: { scenario: "a" }, extra: { own: 1 } },
    { ...stored, group_index: 1, trajectory_count: 1 },
  ];
  const row = (group: number, reward: number) => ({
    ...stored,
    group_index: group,
    id: "7",
    index: 0,
    group_metadata: {},
    group_metrics: {},
    messages_and_choices: [],
    reward,
  });
  assert.deepEqual(jobGroups(groups, [row(0, 1), row(1, 2), row(0, 3)]), [
    {
      metadata: { scenario: "a" },
      own: 1,
      trajectories: [
        { messages_and_choices: [], reward: 1 },
        { messages_and_choices: [], reward: 3 },
      ],
    },
    { trajectories: [{ messages_and_choices: [], reward: 2 }] },
  ]);
});

test("keeps the changed settings of the earlier job, except those that the form decides", () => {
  const changed = ["loss", "beta", "learning_rate", "epochs"];
  const config = { loss: "kto", beta: 0.2, learning_rate: 0.1, epochs: 3, shuffle: true };
  // Safe cast: only these fields are read.
  const job = {
    kind: "preference",
    preference_config: config,
    config_changed: changed,
  } as unknown as TrainingJob;
  assert.deepEqual(newSettings(job, { learning_rate: 0.5, epochs: null, beta: 0.3 }), {
    loss: "kto",
    beta: 0.3,
    learning_rate: 0.5,
    epochs: null,
  });
  const listed = { ...job, kind: "sft", config: { learning_rate: [1, 2] }, config_changed: changed } as never;
  assert.deepEqual(newSettings(listed, { learning_rate: null }), { learning_rate: [1, 2] });
});

test("reads the learning rate that a warning suggests", () => {
  const moved = "This job moved the policy by 12 nats. If they got worse: lower learning_rate to about";
  assert.equal(suggestedRate({ warnings: ["Not applied.", `${moved} 3e-7, or take fewer steps.`] }), "3e-7");
  assert.equal(suggestedRate({ warnings: [`${moved} 0.0002, or take fewer steps.`] }), "0.0002");
  assert.equal(suggestedRate({ warnings: ["Not applied."] }), null);
});

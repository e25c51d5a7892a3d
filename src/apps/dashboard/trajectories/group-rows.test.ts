import assert from "node:assert/strict";
import { test } from "node:test";
import type { TrajectoryOutline } from "../../client/api.ts";
import { groupRows, groupsTitle } from "./group-rows.ts";

const outline = (group: number, index: number, reward: number): TrajectoryOutline => ({
  id: `${group}-${index}`,
  source: "job",
  source_id: "j",
  split: "train",
  step: 0,
  recorded_at: "2026-01-01T00:00:00Z",
  group_index: group,
  index,
  reward,
  metrics: {},
  reply_count: 1,
  cost: null,
  currency: null,
  token_count: 1,
  has_logprobs: true,
  prompt: `prompt ${group}`,
  answer: "",
});

test("orders groups and their members, and computes mean and spread of the rewards", () => {
  const rows = groupRows([outline(1, 1, 0.5), outline(1, 0, 1), outline(0, 0, 2), outline(0, 1, 2)]);
  assert.deepEqual(
    rows.map(({ index, prompt, members, meanReward, spread }) => [
      index,
      prompt,
      members.map(({ id }) => id),
      meanReward,
      spread,
    ]),
    [
      [0, "prompt 0", ["0-0", "0-1"], 2, 0],
      [1, "prompt 1", ["1-0", "1-1"], 0.75, 0.5],
    ],
  );
});

test("names the model, the version and the number of groups in the title", () => {
  const job = { id: "0123456789", model: "e/p/poet", result_step: 2 };
  const groups = groupRows([outline(0, 0, 1), outline(1, 0, 1)]);
  assert.equal(groupsTitle({ job, groups }), "poet, version 2: the 2 groups of its training");
  assert.equal(
    groupsTitle({ job: { ...job, result_step: null }, groups: groups.slice(1) }),
    "poet: the group of job 23456789",
  );
  assert.equal(groupsTitle({ job, groups: [] }), "Groups of job 23456789");
});

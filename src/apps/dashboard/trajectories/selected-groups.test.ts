import assert from "node:assert/strict";
import { test } from "node:test";
import { selectedGroups } from "./selected-groups.ts";

const stored = (source: string, group: number, reward: number) => ({
  id: "7",
  source: "log" as const,
  source_id: source,
  split: "val",
  step: 1,
  recorded_at: "2026",
  group_index: group,
  index: 0,
  group_metadata: {},
  group_metrics: {},
  messages_and_choices: [],
  reward,
});

test("trajectories of the same group become a group of the job, without their place in the store", () => {
  const rows = [stored("a", 0, 1), stored("a", 1, 2), stored("b", 0, 3), stored("a", 0, 4)];
  assert.deepEqual(selectedGroups(rows), [
    {
      trajectories: [
        { messages_and_choices: [], reward: 1 },
        { messages_and_choices: [], reward: 4 },
      ],
    },
    { trajectories: [{ messages_and_choices: [], reward: 2 }] },
    { trajectories: [{ messages_and_choices: [], reward: 3 }] },
  ]);
});

test("refuses a trajectory of which the server sent only a part", () => {
  assert.throws(() => selectedGroups([{ ...stored("a", 0, 1), left_out_bytes: 9 }]), /too large/);
});

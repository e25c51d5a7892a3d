// Tests how the text output shows learning models and their cycles.
import assert from "node:assert/strict";
import { test } from "node:test";
import type { Learning, LearningCycle } from "../../client/api.ts";
import { cycleRow, learningLines } from "./learning-lines.ts";

const cycle: LearningCycle = {
  id: "c",
  model_id: "m",
  job_id: "j",
  stage: "refused",
  learned: [
    { kind: "ratings", owner: "app", creator: "Ann", count: 3 },
    { kind: "next_message", owner: "Bob", creator: null, count: 1 },
  ],
  held_out_prompts: 4,
  margin: 0.02,
  current_version: 0,
  candidate_version: 1,
  evaluation: {
    method: "judge",
    prompts: 4,
    candidate: { score: 0.25, unwanted: null },
    current: { score: 0.5, unwanted: null },
  },
  reason: "The candidate is worse.",
  waiting_for: null,
  rated_before: null,
  rated_after: null,
  created_at: "2026-11-30T00:00:00.000Z",
  promoted_at: null,
  ended_at: "2026-11-30T01:00:00.000Z",
};

const settings = {
  signals: ["ratings"],
  signals_min: 8,
  held_out_share: 0.2,
  margin: 0.02,
  judge: { model: "big", rubric: "Short." },
};

test("shows what a model learned from whom, both scores and the decision", () => {
  // Safe cast: the lines need only these settings.
  const learning = {
    settings,
    status: "waiting",
    explanation: "Later.",
    fault: "No room.",
    cycle,
  } as never as Learning;
  assert.deepEqual(learningLines(learning), [
    "on; signals ratings; at least 8 new ones per job",
    "20 % of the conversations held out; evaluated by big; margin 0.02",
    "waiting: Later.",
    "the last check failed: No room.",
    "",
    "cycle of 2026-11-30T00:00:00.000Z: refused, 0 -> 1",
    "  3 ratings from Ann (key of app)",
    "  1 next_message from Bob (key of Bob)",
    "  score 0.500 -> 0.250 (judge)",
    "  The candidate is worse.",
  ]);
});

test("sums the signals of a cycle in its row, and shows why it waits", () => {
  const waiting = { ...cycle, evaluation: null, reason: null, waiting_for: "The judge is not loaded." };
  assert.deepEqual(cycleRow(waiting), {
    began: cycle.created_at,
    stage: "refused",
    versions: "0 -> 1",
    signals: 4,
    people: "Ann, Bob",
    score: "",
    reason: "The judge is not loaded.",
  });
});

import assert from "node:assert/strict";
import { test } from "node:test";
import type { FeedbackPreferenceJob } from "../../client/api.ts";
import { asksForFeedback, preferenceLines } from "./preference-feedback.ts";

const side = { call: "c", correction: false, step: 0, people: 1, feedback_ids: ["f"] } as const;

const job: FeedbackPreferenceJob = {
  id: null,
  dry_run: true,
  cost: 0.25,
  currency: "EUR",
  counts: {
    feedback: 5,
    prompts: 6,
    pairs: 10,
    corrections: 1,
    people: 2,
    trained_tokens: 40,
    left_out: { equal_rewards: 2 },
  },
  reasons: { equal_rewards: "All the same." },
  pairs: [
    {
      prompt: "Say\none",
      chosen: { ...side, text: "one", reward: null, correction: true },
      rejected: { ...side, text: "two", reward: 0.25 },
    },
    { prompt: "Say two", chosen: null, rejected: { ...side, text: "one", reward: null } },
  ],
  left_out: [{ reference: "hone:///e/p/call/r", reason: "equal_rewards", reward: 1, people: 1, feedback: 1 }],
};

test("shows the preferred answer of a pair first, and whether it is a correction", () => {
  assert.deepEqual(preferenceLines(job), [
    "10 answers to 6 prompts, 1 of them corrections; 5 records of feedback, 2 people",
    "estimated cost 0.25 EUR (40 answer tokens per pass)",
    "",
    "Say one",
    "  + corrected  one",
    "  -      0.25  two",
    "",
    "Say two",
    "  -            one",
    "",
    "and 2 more",
    "",
    "left out",
    "      2  equal_rewards: All the same.",
    "         for example hone:///e/p/call/r",
  ]);
});

test("selects training on feedback if any of its flags is given", () => {
  assert.equal(asksForFeedback({}), false);
  for (const flags of [
    { preferences: true },
    { rule: "p/r" },
    { corrections: true as const },
    { dryRun: true },
  ])
    assert.equal(asksForFeedback(flags), true);
});

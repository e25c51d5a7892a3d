// Tests of the flags for a rule's terms, and of the preview.
import assert from "node:assert/strict";
import { test } from "node:test";
import type { FeedbackJob } from "../../client/api.ts";
import { previewLines } from "./preview-screen.ts";
import { hasTerms, readTerms, type TermFlags } from "./term-flags.ts";

test("parses each flag as terms of a rule", () => {
  const check = (flags: TermFlags, terms: readonly object[]): void => {
    assert.deepEqual(readTerms(flags), terms);
    assert.equal(hasTerms(flags), true);
  };
  check({ reactions: "👍=1, :thumbs_down:=-0.5" }, [
    { kind: "reaction", rewards: { "👍": 1, ":thumbs_down:": -0.5 } },
  ]);
  check({ number: "wandb.runnable.judge:output.score" }, [
    { kind: "number", feedback_type: "wandb.runnable.judge", path: "output.score" },
  ]);
  check({ number: "score:stars:1..5" }, [
    { kind: "number", feedback_type: "score", path: "stars", range: [1, 5] },
  ]);
  check({ annotation: "good", preferences: true }, [
    { kind: "annotation", name: "good" },
    { kind: "preference" },
  ]);
  check({ annotation: "style:1..5" }, [{ kind: "annotation", name: "style", range: [1, 5] }]);
  check({ annotation: "tone:kind=1,so: so=0.5,rude=0" }, [
    { kind: "annotation", name: "tone", rewards: { kind: 1, "so: so": 0.5, rude: 0 } },
  ]);
  for (const annotation of ["", ":1..5", "tone:", "tone:kind", "tone:kind=much"])
    assert.throws(() => readTerms({ annotation }), /tone:kind=1,rude=0/);
  assert.equal(hasTerms({}), false);
  assert.throws(() => readTerms({}), /--reactions/);
  for (const reactions of ["👍", "=1", "👍=", "👍=much"])
    assert.throws(() => readTerms({ reactions }), /👍=1,👎=0/);
  assert.throws(() => readTerms({ number: "score" }), /score:stars:1\.\.5/);
});

test("shows a histogram of the rewards, the answers, and the feedback that is left out", () => {
  const answer = { call: "c", step: 0, people: 1, terms: [], feedback_ids: [], use: "trained" } as const;
  const job: FeedbackJob = {
    id: null,
    dry_run: true,
    cost: 0.0004,
    currency: "EUR",
    counts: {
      feedback: 5,
      groups: 1,
      answers: 3,
      compared: 1,
      people: 2,
      tokens: 30,
      trained_tokens: 12,
      left_out: { single_answer: 1 },
    },
    reasons: { single_answer: "No other answer." },
    groups: [
      {
        prompt: "Say\none",
        answers: [
          { ...answer, text: "one", reward: 1 },
          { ...answer, text: "two", reward: 0, people: 2 },
          { ...answer, text: "x".repeat(99), reward: 0, use: "compared" },
        ],
      },
    ],
    left_out: [
      { reference: "hone:///e/p/call/r", reason: "single_answer", reward: 1, people: 1, feedback: 1 },
    ],
  };
  const lines = previewLines(job);
  assert.match(lines[0] ?? "", /^1 group, 3 trainable answers, 1 more for comparison, 30 tokens; 5 records/);
  assert.equal(lines[1], "estimated cost 0.0004 EUR (12 answer tokens per pass)");
  const bins = lines.filter((line) => line.includes("▕"));
  assert.equal(bins.length, 10);
  assert.match(bins[0] ?? "", /0\.00 ▕█{30}▏ 2$/);
  assert.match(bins[9] ?? "", /0\.90 ▕█{15} +▏ 1$/);
  const text = lines.join("\n");
  assert.match(
    text,
    /\nSay one\n {3}1\.00 {2}1 person {2}one\n {3}0\.00 {2}2 people {2}two\n.*x{57}\.\.\. {2}\(already trained\)/,
  );
  assert.match(text, /1 {2}single_answer: No other answer\.\n.*hone:\/\/\/e\/p\/call\/r/);
});

import assert from "node:assert/strict";
import { test } from "node:test";
import type { FeedbackRecord } from "../../../base/domain/feedback.ts";
import { type RewardTerm, scaleBetween, unitScale } from "../../../base/domain/rewards/reward-rule.ts";
import { refTo, said, thumb } from "../testing/samples.ts";
import { scoreAnswers } from "./score-answers.ts";

const references = ["a", "b", "c"].map((id) => refTo(id));

/** Checks the rewards and numbers of people that the given records produce for the answers a, b and c. */
function check(
  terms: readonly RewardTerm[],
  records: readonly FeedbackRecord[],
  expected: readonly (readonly [number | null, number])[],
): void {
  const answers = references
    .slice(0, expected.length)
    .map((reference) => records.filter(({ vendorRef }) => vendorRef === reference));
  const positionOf = (reference: string): number | null => {
    const position = references.indexOf(reference);
    return position === -1 ? null : position;
  };
  const scores = scoreAnswers({ terms }, answers, positionOf);
  const rounded = (value: number | null) => value && Math.round(value * 1e9) / 1e9;
  assert.deepEqual(
    scores.map(({ reward, peopleCount }) => [rounded(reward), peopleCount]),
    expected,
  );
}

const [a, b, c] = references;
const reaction: RewardTerm = {
  kind: "reaction",
  weight: 1,
  rewards: { "👍": 1, ":thumbs_down:": 0, "❤": 0.5 },
};

test("rewards a reaction by emoji or name, in any skin tone and vendor spelling, and ignores others", () => {
  const alias = {
    emoji: "👍🏽",
    alias: ":thumbs_up_medium_skin_tone:",
    detoned: "👍",
    detoned_alias: ":thumbs_up:",
  };
  check(
    [reaction],
    [thumb(a, "👍"), thumb(b, "👎", { feedbackType: "wandb.reaction.1" })],
    [
      [1, 1],
      [0, 1],
    ],
  );
  check(
    [reaction],
    [said(a, { feedbackType: "vendor.reaction.1", payload: alias }), thumb(b, "❤️")],
    [
      [1, 1],
      [0.5, 1],
    ],
  );
  check(
    [reaction],
    [thumb(a, "🎉"), said(b, { feedbackType: "vendor.note.1", payload: { emoji: "👍" } })],
    [
      [null, 0],
      [null, 0],
    ],
  );
});

test("counts each person once, by the newest statement", () => {
  const bob = { vendorUserId: "Bob" };
  check([reaction], [thumb(a, "👎"), thumb(a, "👍"), thumb(a, "👎", bob)], [[0.5, 2]]);
  // A newer record that the rule does not read does not revoke an older one.
  check([reaction], [thumb(a, "👍"), thumb(a, "🎉")], [[1, 1]]);
  // One application stores feedback by several people with one API key.
  const records = ["Ann", "Ben", "Cy"].map((creator, index) =>
    thumb(a, index === 0 ? "👎" : "👍", { creator }),
  );
  check([reaction], records, [[0.666666667, 3]]);
  const now = new Date(0);
  const same = [thumb(a, "👍", { id: "2", createdAt: now }), thumb(a, "👎", { id: "1", createdAt: now })];
  check([reaction], same, [[1, 1]]);
});

test("reads a number at a path, scaled and clamped to its bounds", () => {
  const stars = (value: unknown): FeedbackRecord =>
    said(a, { feedbackType: "stars", payload: { rating: { of: [0, value as number] } } });
  const term = (scale: typeof unitScale): RewardTerm => ({
    kind: "number",
    weight: 1,
    feedbackType: "stars",
    path: ["rating", "of", 1],
    scale,
  });
  for (const [value, reward] of [
    [1, 0],
    [2, 0.25],
    [5, 1],
    [9, 1],
    [-3, 0],
  ])
    check([term(scaleBetween(1, 5))], [stars(value)], [[reward, 1]]);
  check([term(scaleBetween(10, 0))], [stars(4)], [[0.6, 1]]);
  const wide = { factor: 0.5, offset: -1, least: -1, most: 2 };
  for (const [value, reward] of [
    [0, -1],
    [3, 0.5],
    [100, 2],
  ])
    check([term(wide)], [stars(value)], [[reward, 1]]);
  check([term(unitScale)], [stars(true)], [[1, 1]]);
  for (const value of ["5", null, undefined, {}, [1]]) check([term(unitScale)], [stars(value)], [[null, 0]]);
});

test("rewards an annotation's value as a boolean, a number, or a text in the table", () => {
  const term: RewardTerm = {
    kind: "annotation",
    weight: 1,
    name: "quality",
    rewards: { good: 1, fair: 0.25 },
    scale: scaleBetween(0, 10),
  };
  const annotated = (value: string | number | boolean, name = "wandb.annotation.quality"): FeedbackRecord =>
    said(a, { feedbackType: name, payload: { value } });
  for (const [value, reward] of [
    ["good", 1],
    ["fair", 0.25],
    [5, 0.5],
    [true, 0.1],
  ] as const)
    check([term], [annotated(value)], [[reward, 1]]);
  check([{ ...term, scale: unitScale }], [annotated(true)], [[1, 1]]);
  // The term also reads other vendors' annotation types, and answers to an annotation queue's own questions.
  for (const type of ["vendor.annotation.quality", "annotation.quality"])
    check([term], [annotated("good", type)], [[1, 1]]);
  const other = ["wandb.annotation.other", "annotation.other", "quality", "other.annotation.quality"];
  check([term], [annotated("toString"), ...other.map((type) => annotated("good", type))], [[null, 0]]);
});

const preference: RewardTerm = { kind: "preference", weight: 1, feedbackType: null, prior: 1 };

function better(winner: string, loser: string, changes: Partial<FeedbackRecord> = {}): FeedbackRecord {
  return said(winner, { feedbackType: "compared", payload: { better_than: loser }, ...changes });
}

test("scores answers by preferences among them, including one that only lost", () => {
  const scores = scoreAnswers({ terms: [preference] }, [[better(a, b)], [], []], (reference) =>
    references.indexOf(reference),
  );
  const [won, lost, apart] = scores.map(({ reward }) => reward);
  assert.ok(won !== null && lost !== null && won > 0.6 && Math.abs(won + lost - 1) < 1e-9);
  assert.equal(apart, null);
  check(
    [preference],
    [better(a, b), better(b, c), better(c, a)],
    [
      [0.5, 1],
      [0.5, 1],
      [0.5, 1],
    ],
  );
  // Only a person's newest comparison of two answers counts, whichever of the two it is stored on. Two people who
  // disagree make a draw.
  check(
    [preference],
    [better(a, b), better(b, a), better(a, b, { vendorUserId: "Bob" })],
    [
      [0.5, 2],
      [0.5, 2],
    ],
  );
  check([preference], [better(a, a), better(a, refTo("elsewhere"))], [[null, 0]]);
  check(
    [{ ...preference, feedbackType: "other" }],
    [better(a, b)],
    [
      [null, 0],
      [null, 0],
    ],
  );
});

test("combines terms by weight, and ignores one that found nothing", () => {
  const note: RewardTerm = {
    kind: "number",
    weight: 3,
    feedbackType: "score",
    path: ["value"],
    scale: unitScale,
  };
  const score = said(a, { feedbackType: "score", payload: { value: 0 } });
  check(
    [reaction, note],
    [thumb(a, "👍"), score, thumb(b, "👍", { creator: "Ann" })],
    [
      [0.25, 1],
      [1, 1],
    ],
  );
  const [{ terms, feedback }] = scoreAnswers({ terms: [reaction, note] }, [[score]], () => null);
  assert.deepEqual(terms, [null, { value: 0, peopleCount: 1 }]);
  assert.deepEqual(feedback, [score]);
});

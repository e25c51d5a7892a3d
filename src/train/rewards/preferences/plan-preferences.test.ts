// Tests planning preferences from feedback: from rated answers, in pairs or singly, from comparisons (`better_than`),
// and from corrections.
import assert from "node:assert/strict";
import { test } from "node:test";
import type { FeedbackRecord } from "../../../base/domain/feedback.ts";
import type { PreferenceOrder } from "../../../base/domain/rewards/preference-order.ts";
import { feedbackMark } from "../../../base/domain/rewards/training-source.ts";
import type { PlanInput } from "../groups/judge-answers.ts";
import { projectId, recordedCall, refTo, said, thumb, thumbs } from "../testing/samples.ts";
import { planPreferences, type PreferenceSide } from "./plan-preferences.ts";

const calls = [
  recordedCall("a1", "a"),
  recordedCall("a2", "a", { step: 3 }),
  recordedCall("a3", "a"),
  recordedCall("b", "b"),
  recordedCall("long", "b", { tokenCount: 101 }),
];

type Order = Omit<PreferenceOrder, "rule">;

const pairs: Order = { corrections: null, comparison: { kind: "pairs", marginMin: 0 } };
const verdicts: Order = { corrections: null, comparison: { kind: "verdicts", threshold: 0.5 } };
const corrections = { feedbackType: null, path: ["correction"] };

const shown = (side: PreferenceSide | null): string | null =>
  side && (side.correctedText === null ? side.requestId : `${side.requestId} as ${side.correctedText}`);

/** Checks the chosen and rejected answers of each preference, and the excluded answers with their reasons. */
async function check(
  records: readonly FeedbackRecord[],
  order: Order,
  expected: {
    readonly preferences?: readonly (readonly (string | null)[])[];
    readonly leftOut?: Readonly<Record<string, string>>;
  },
  changes: Partial<PlanInput> = {},
): Promise<void> {
  const { preferences, leftOut } = await planPreferences(
    {
      rule: thumbs,
      model: { id: "m", projectId },
      records,
      callOf: (requestId) => calls.find((call) => call.requestId === requestId),
      trainedOn: () => new Set(),
      stepMin: 0,
      sequenceLengthMax: 100,
      ...changes,
    },
    order,
  );
  assert.deepEqual(
    preferences.map(({ chosen, rejected }) => [shown(chosen), shown(rejected)]),
    expected.preferences ?? [],
  );
  assert.deepEqual(
    Object.fromEntries(leftOut.map(({ reference, reason }) => [reference, reason])),
    expected.leftOut ?? {},
  );
}

const [good, bad] = [thumb(refTo("a1"), "👍"), thumb(refTo("a2"), "👎")];

const fix = (requestId: string, correction: unknown, changes: Partial<FeedbackRecord> = {}) =>
  said(refTo(requestId), {
    feedbackType: "fix",
    // Safe cast: in tests, feedback payloads may contain any value.
    payload: { correction } as FeedbackRecord["payload"],
    ...changes,
  });

test("pairs answers to one prompt with different ratings", async () => {
  await check([bad, good], pairs, { preferences: [["a1", "a2"]] });
  await check([bad, good, thumb(refTo("a3"), "👎"), thumb(refTo("b"), "👍")], pairs, {
    preferences: [
      ["a1", "a3"],
      ["a1", "a2"],
    ],
    leftOut: { [refTo("b", 0)]: "single_answer" },
  });
  await check([good, thumb(refTo("a2"), "👍")], pairs, {
    leftOut: { [refTo("a1", 0)]: "equal_rewards", [refTo("a2", 0)]: "equal_rewards" },
  });
  await check([good, thumb(refTo("a2"), "👍"), thumb(refTo("a2"), "👎", { creator: "Ann" })], pairs, {
    preferences: [["a1", "a2"]],
  });
});

test("excludes answers with mixed ratings by the margin", async () => {
  const records = [good, thumb(refTo("a2"), "👍"), thumb(refTo("a2"), "👎", { creator: "Ann" })];
  const wide = { ...pairs, comparison: { kind: "pairs", marginMin: 0.6 } } as const;
  await check(records, wide, {
    leftOut: { [refTo("a1", 0)]: "near_rewards", [refTo("a2", 0)]: "near_rewards" },
  });
});

test("prefers an answer that somebody found better than another", async () => {
  const rule = { terms: [{ kind: "preference", weight: 1, feedbackType: null, prior: 1 } as const] };
  const better = (winner: string, loser: string, creator: string | null = null) =>
    said(refTo(winner), { feedbackType: "vs", payload: { better_than: refTo(loser) }, creator });
  await check([better("a2", "a1")], pairs, { preferences: [["a2", "a1"]] }, { rule });
  await check(
    [better("a2", "a1"), better("a1", "a2", "Ann")],
    pairs,
    { leftOut: { [refTo("a1", 0)]: "equal_rewards", [refTo("a2", 0)]: "equal_rewards" } },
    { rule },
  );
  await check([better("a2", "b")], pairs, { leftOut: { [refTo("a2")]: "other_prompt" } }, { rule });
});

test("prefers corrections to the answer, each person's newest text once", async () => {
  const order = { ...pairs, corrections };
  const records = [
    fix("b", "old"),
    fix("b", "new"),
    fix("b", "new", { creator: "Ann" }),
    fix("b", "other", { creator: "Bob" }),
  ];
  await check(
    records,
    order,
    {
      preferences: [
        ["b as new", "b"],
        ["b as other", "b"],
      ],
    },
    { rule: { terms: [] } },
  );
  await check([good, bad, fix("a2", "better")], order, {
    preferences: [
      ["a1", "a2"],
      ["a2 as better", "a2"],
    ],
  });
  await check([fix("b", "better")], pairs, { leftOut: { [refTo("b", 0)]: "no_value" } });
  for (const correction of [" ", 7, null, undefined, ["better"]])
    await check([fix("b", correction)], order, { leftOut: { [refTo("b", 0)]: "no_value" } });
  await check([fix("long", "better")], order, { leftOut: { [refTo("long", 0)]: "too_long" } });
  const fixes = { feedbackType: "review", path: ["texts", 0] };
  const review = said(refTo("b"), { feedbackType: "review", payload: { texts: ["right"] } });
  await check(
    [review, fix("a1", "no")],
    { ...pairs, corrections: fixes },
    {
      preferences: [["b as right", "b"]],
      leftOut: { [refTo("a1", 0)]: "no_value" },
    },
  );
});

test("judges answers singly by thumbs, and skips a neutral one", async () => {
  await check([good, bad], verdicts, {
    preferences: [
      ["a1", null],
      [null, "a2"],
    ],
  });
  const divided = [thumb(refTo("b"), "👍"), thumb(refTo("b"), "👎", { creator: "Ann" })];
  await check(divided, verdicts, { leftOut: { [refTo("b", 0)]: "no_verdict" } });
  await check(
    divided,
    { ...verdicts, comparison: { kind: "verdicts", threshold: 0.6 } },
    {
      preferences: [[null, "b"]],
    },
  );
});

test("judges an answer once if it is rated and corrected", async () => {
  const order = { ...verdicts, corrections };
  await check([bad, fix("a2", "better"), fix("a2", "best", { creator: "Ann" })], order, {
    preferences: [
      [null, "a2"],
      ["a2 as better", null],
      ["a2 as best", null],
    ],
  });
  await check([fix("a2", "better"), fix("a2", "best", { creator: "Ann" })], order, {
    preferences: [
      ["a2 as better", null],
      [null, "a2"],
      ["a2 as best", null],
    ],
  });
});

test("trains nothing twice: a pair needs new feedback on one answer, a correction or a verdict on its own", async () => {
  const both: PlanInput["trainedOn"] = () => new Set([good, bad].map(feedbackMark));
  const trained = { [refTo("a1", 0)]: "already_trained", [refTo("a2", 0)]: "already_trained" };
  await check([good, bad], pairs, { leftOut: trained }, { trainedOn: both });
  await check([good, bad], verdicts, { leftOut: trained }, { trainedOn: both });
  const third = thumb(refTo("a3"), "👎");
  await check(
    [good, bad, third],
    pairs,
    { preferences: [["a1", "a3"]], leftOut: { [refTo("a2", 0)]: "already_trained" } },
    { trainedOn: both },
  );
  const order = { ...pairs, corrections };
  const correction = fix("b", "better");
  const known = () => new Set([feedbackMark(correction)]);
  await check([correction], order, { leftOut: { [refTo("b", 0)]: "already_trained" } }, { trainedOn: known });
  await check(
    [correction, fix("b", "best", { creator: "Ann" })],
    order,
    { preferences: [["b as best", "b"]] },
    { trainedOn: known },
  );
});

test("pairs no answers of versions that are too old", async () => {
  await check(
    [good, bad],
    pairs,
    { leftOut: { [refTo("a1", 0)]: "too_old", [refTo("a2", 0)]: "single_answer" } },
    { stepMin: 2 },
  );
});

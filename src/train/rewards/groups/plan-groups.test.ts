import assert from "node:assert/strict";
import { test } from "node:test";
import { answerId, feedbackMark } from "../../../base/domain/rewards/training-source.ts";
import { projectId, recordedCall, refTo, said, thumb, thumbs } from "../testing/samples.ts";
import type { PlanInput, RecordedCall } from "./judge-answers.ts";
import { planGroups } from "./plan-groups.ts";

/** Recorded calls: two answers to one prompt, one answer to another prompt, and special cases. */
const calls: readonly RecordedCall[] = [
  recordedCall("a1", "a"),
  recordedCall("a2", "a", { step: 3 }),
  recordedCall("b", "b"),
  recordedCall("many", "a", { choiceCount: 2 }),
  recordedCall("other", "a", { modelId: "n" }),
  recordedCall("large", "a", { isWhole: false }),
  recordedCall("long", "a", { tokenCount: 101 }),
];

function plan(records: PlanInput["records"], changes: Partial<PlanInput> = {}) {
  return planGroups({
    rule: thumbs,
    model: { id: "m", projectId },
    records,
    callOf: (requestId) => calls.find((call) => call.requestId === requestId),
    trainedOn: () => new Set(),
    stepMin: 0,
    sequenceLengthMax: 100,
    ...changes,
  });
}

/** Checks the planned answers with their rewards, and the excluded answers with their reasons. */
async function check(
  records: PlanInput["records"],
  expected: { readonly groups?: readonly object[]; readonly leftOut?: Readonly<Record<string, string>> },
  changes: Partial<PlanInput> = {},
): Promise<void> {
  const { groups, leftOut } = await plan(records, changes);
  assert.deepEqual(
    groups.map(({ answers }) =>
      Object.fromEntries(answers.map((answer) => [answerId(answer), [answer.reward, answer.use]])),
    ),
    expected.groups ?? [],
  );
  assert.deepEqual(
    Object.fromEntries(leftOut.map(({ reference, reason }) => [reference, reason])),
    expected.leftOut ?? {},
  );
}

const [good, bad] = [thumb(refTo("a1"), "👍"), thumb(refTo("a2"), "👎")];

test("groups answers to the same prompt, across versions and spellings of the scheme", async () => {
  const elsewhere = thumb(`weave:///${projectId}/call/a1`, "👍");
  const groups = [{ "0:a1": [1, "trained"], "0:a2": [0, "trained"] }];
  await check([good, bad], { groups });
  await check([elsewhere, bad], { groups });
  await check([thumb(refTo("many", 1), "👍"), bad], {
    groups: [{ "1:many": [1, "trained"], "0:a2": [0, "trained"] }],
  });
});

test("reports what does not train, with the reason", async () => {
  const up = (reference: string) => thumb(reference, "👍");
  const references = {
    [refTo("unknown")]: "no_recording",
    [`hone:///team/elsewhere/call/a1`]: "no_recording",
    [`hone:///${projectId}/object/a:b`]: "no_recording",
    [refTo("other")]: "other_model",
    [refTo("large")]: "no_tokens",
    [refTo("many")]: "no_choice",
    [refTo("many", 2)]: "no_choice",
    [refTo("b", 0)]: "single_answer",
    [refTo("long", 0)]: "too_long",
  };
  await check(Object.keys(references).map(up), { leftOut: references });
  await check([good, up(refTo("a2"))], {
    leftOut: { [refTo("a1", 0)]: "equal_rewards", [refTo("a2", 0)]: "equal_rewards" },
  });
  await check([thumb(refTo("b"), "🎉")], { leftOut: { [refTo("b", 0)]: "no_value" } });
  await check(
    [good, bad],
    { leftOut: { [refTo("a1", 0)]: "too_old", [refTo("a2", 0)]: "single_answer" } },
    { stepMin: 2 },
  );
});

test("trains an answer again only after new feedback, and uses it for comparison until then", async () => {
  const trainedOn: PlanInput["trainedOn"] = ({ requestId }) =>
    new Set(requestId === "a1" ? [feedbackMark(good)] : []);
  await check([good, bad], { groups: [{ "0:a1": [1, "compared"], "0:a2": [0, "trained"] }] }, { trainedOn });
  await check([good], { leftOut: { [refTo("a1", 0)]: "already_trained" } }, { trainedOn });
  const again = thumb(refTo("a1"), "👎", { creator: "Ann" });
  await check(
    [good, again, thumb(refTo("a2"), "👍")],
    { groups: [{ "0:a1": [0.5, "trained"], "0:a2": [1, "trained"] }] },
    { trainedOn },
  );
  // The same record after a client replaced its content.
  const replaced = { ...good, contentHash: "other" };
  await check(
    [replaced, bad],
    { groups: [{ "0:a1": [1, "trained"], "0:a2": [0, "trained"] }] },
    { trainedOn },
  );
  const both: PlanInput["trainedOn"] = () => new Set([good, bad].map(feedbackMark));
  await check(
    [good, bad],
    { leftOut: { [refTo("a1", 0)]: "already_trained", [refTo("a2", 0)]: "already_trained" } },
    { trainedOn: both },
  );
});

test("scores both answers of a preference, but neither across prompts", async () => {
  const rule = { terms: [{ kind: "preference", weight: 1, feedbackType: null, prior: 1 } as const] };
  const better = (winner: string, loser: string) =>
    said(winner, { feedbackType: "compared", payload: { better_than: loser } });
  const { groups } = await plan([better(refTo("a1"), refTo("a2"))], { rule });
  const [one, other] = groups[0]?.answers ?? [];
  assert.ok(one !== undefined && other !== undefined && one.reward > other.reward);
  assert.deepEqual([one.feedback, one.peopleCount], [other.feedback, 1]);
  for (const loser of [refTo("b"), refTo("unknown"), refTo("many")])
    await check([better(refTo("a1"), loser)], { leftOut: { [refTo("a1")]: "other_prompt" } }, { rule });
});

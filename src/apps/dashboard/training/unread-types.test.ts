// Tests which feedback a reward does not read.
import assert from "node:assert/strict";
import { test } from "node:test";
import type { RewardTerm } from "../../client/api.ts";
import { annotationName, unreadTypes } from "./unread-types.ts";

const types = ["vendor.reaction.1", "annotation.tone", "vendor.annotation.right", "score"].map(
  (feedback_type) => ({ feedback_type, count: 2 }),
);

function unread(...terms: readonly RewardTerm[]): readonly string[] {
  return unreadTypes(types, terms).map(({ feedback_type: type }) => type);
}

test("finds the types that no term reads", () => {
  assert.deepEqual(unread({ kind: "reaction", rewards: { "👍": 1 } }), [
    "annotation.tone",
    "vendor.annotation.right",
    "score",
  ]);
  assert.deepEqual(
    unread({ kind: "annotation", name: "tone" }, { kind: "annotation", name: "right" }, { kind: "reaction" }),
    ["score"],
  );
  assert.deepEqual(unread({ kind: "number", feedback_type: "score" }, { kind: "annotation", name: "one" }), [
    "vendor.reaction.1",
    "annotation.tone",
    "vendor.annotation.right",
  ]);
  assert.deepEqual(unread({ kind: "preference" }), []);
});

test("finds the name of an annotation", () => {
  assert.equal(annotationName("annotation.tone"), "tone");
  assert.equal(annotationName("vendor.annotation.tone"), "tone");
  assert.equal(annotationName("score"), null);
});

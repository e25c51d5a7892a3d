// Tests of the descriptions of reward rules.
import assert from "node:assert/strict";
import { test } from "node:test";
import { termText } from "./term-text.ts";

test("says which feedback a term reads, and what it is worth", () => {
  assert.equal(termText({ kind: "reaction", rewards: { "👍": 1, "👎": 0 } }), "reactions: 👍 is 1, 👎 is 0");
  assert.equal(termText({ kind: "annotation", name: "good" }), "answers to “good”");
  assert.equal(
    termText({ kind: "number", feedback_type: "score", path: "stars", range: [1, 5], weight: 2 }),
    "the number stars of score: 1 is 0, 5 is 1 (weight 2)",
  );
  assert.equal(termText({ kind: "preference" }), "comparisons of answers");
});

// Tests the terms that the form of a new reward rule describes.
import assert from "node:assert/strict";
import { test } from "node:test";
import type { AskedQuestion } from "../../client/api.ts";
import { suggestedRewards, type TermFields, termsOf } from "./rule-terms.ts";

function terms(fields: Partial<TermFields>): unknown {
  return termsOf({ kind: "thumbs", annotation: "tone", rewards: "", json: "", ...fields });
}

const asked: AskedQuestion = {
  name: "tone",
  text: "Tone?",
  optional: false,
  spec_ref: null,
  schema: null,
  kind: "choice",
  choices: null,
  minimum: null,
  maximum: null,
  max_length: null,
};

test("describes thumbs, answers to a question, and terms in JSON", () => {
  const annotation = { kind: "annotation", name: "tone" };
  assert.deepEqual(terms({}), [{ kind: "reaction", rewards: { "👍": 1, "👎": 0 } }]);
  assert.deepEqual(terms({ kind: "annotation" }), [annotation]);
  assert.deepEqual(terms({ kind: "annotation", rewards: "1..5" }), [{ ...annotation, range: [1, 5] }]);
  assert.deepEqual(terms({ kind: "annotation", rewards: "kind=1, a=b=0.5" }), [
    { ...annotation, rewards: { kind: 1, "a=b": 0.5 } },
  ]);
  assert.deepEqual(terms({ kind: "json", json: '{"kind":"preference"}' }), [{ kind: "preference" }]);
});

test("refuses malformed rewards and JSON", () => {
  for (const rewards of ["kind", "kind=", "=1", "kind=much"])
    assert.throws(() => terms({ kind: "annotation", rewards }), /write them like kind=1, rude=0 or 1\.\.5/);
  assert.throws(() => terms({ kind: "json", json: "{" }), SyntaxError);
});

test("suggests rewards that the form accepts", () => {
  assert.equal(
    suggestedRewards({ ...asked, choices: ["kind", "so-so", "rude"] }),
    "kind=1, so-so=0.5, rude=0",
  );
  assert.equal(suggestedRewards({ ...asked, kind: "integer", minimum: 1, maximum: 5 }), "1..5");
  assert.equal(suggestedRewards({ ...asked, kind: "boolean" }), "");
});

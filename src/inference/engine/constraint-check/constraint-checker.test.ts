import assert from "node:assert/strict";
import { test } from "node:test";
import { seededRandom } from "../../../base/domain/random.ts";
import { packVocabulary } from "../../../base/domain/vocabulary.ts";
import type { Json } from "../../../base/domain/text/json.ts";
import { jsonSchema, regex } from "../../../lib/constraints/grammar/testing/make-constraints.ts";
import { byteLevelTokens } from "../../../lib/constraints/grammar/testing/vocabularies.ts";
import { defaultGrammarLimits } from "../../../lib/constraints/regex/limits.ts";
import { createConstraintChecker } from "./constraint-checker.ts";

const tiny = (count: number) => ({
  name: `tiny-${count}`,
  vocabulary: packVocabulary(byteLevelTokens(count)),
});

function checker(seconds = 60) {
  return createConstraintChecker({
    limits: defaultGrammarLimits,
    seconds,
  });
}

test("returns the results of a check from its thread", async (t) => {
  const constraints = checker();
  t.after(() => constraints.stop());
  const schema: Json = { type: "object", properties: { b: true, a: { type: "integer" } } };
  const [served, refused] = await Promise.all([
    constraints.check(tiny(300), jsonSchema(schema), ['{"a":1,"b":[]}', '{"a":0.5}']),
    constraints.check(tiny(300), regex("(a)\\1"), ['"aa"'], { client: "one" }),
  ]);
  assert.deepEqual(served, {
    refusal: null,
    instances: [
      { isAccepted: true, limit: null, place: "" },
      { isAccepted: false, limit: null, place: "" },
    ],
    notices: [],
    compileMs: served.compileMs,
  });
  assert.deepEqual([refused.refusal?.kind, refused.instances], ["not-exact", []]);
});

test("aborts a check that exceeds its time limit, and serves the next", async (t) => {
  const constraints = checker(0.2);
  t.after(() => constraints.stop());
  // These texts reach the maximum number of parser states, so checking all of them exceeds the time limit.
  const random = seededRandom("letters");
  const letters = Array.from({ length: 70_000 }, () => "ab"[random.index(2)]).join("");
  const many = Array.from({ length: 50 }, () => JSON.stringify(letters));
  await assert.rejects(constraints.check(tiny(300), regex("[ab]*a[ab]{30}"), many), {
    code: "too_large",
    message: "Checking this takes longer than 0.2 s; send fewer or shorter tests.",
  });
  assert.equal((await constraints.check(tiny(300), regex("a"), ['"a"'])).instances[0]?.isAccepted, true);
});

test("checks nothing once it is stopped", async () => {
  const constraints = checker();
  await constraints.stop();
  await assert.rejects(constraints.check(tiny(300), regex("a"), []), { code: "unavailable" });
});

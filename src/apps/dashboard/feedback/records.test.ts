// Free feedback as it is typed, and what a record says in a line.
import assert from "node:assert/strict";
import { test } from "node:test";
import { freeRecord, isReaction, note, reaction, saidIn } from "./records.ts";

test("a free record has a type and an object, or it is said what is wrong", () => {
  assert.deepEqual(freeRecord(" score ", '{"value": 0.5}'), {
    feedback_type: "score",
    payload: { value: 0.5 },
  });
  const faultOf = (type: string, json: string): string => {
    const record = freeRecord(type, json);
    return typeof record === "string" ? record : "";
  };
  assert.match(faultOf("", "{}"), /The type is empty/);
  assert.match(faultOf("score", "{"), /not JSON: .*Write an object/);
  for (const json of ["[]", "null", "1"]) assert.match(faultOf("score", json), /must be an object/);
});

test("a reaction says its emoji, a note its words, and anything else itself", () => {
  assert.equal(saidIn(reaction("👍")), "👍");
  assert.equal(saidIn(note("good")), "good");
  assert.equal(saidIn({ feedback_type: "score", payload: { value: 1 } }), 'score {"value":1}');
  assert.equal(isReaction(reaction("👍"), "👍"), true);
  assert.equal(isReaction({ feedback_type: "score", payload: { emoji: "👍" } }, "👍"), false);
});

// Tests of feedback typed by the user, and of the text that shows a record.
import assert from "node:assert/strict";
import { test } from "node:test";
import { formatRecord, freeRecord, isReaction, note, reaction, reactionChange } from "./records.ts";

test("requires a type and an object, and says what is wrong", () => {
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

test("shows the emoji of a reaction, the text of a note, and the payload of other records", () => {
  assert.equal(formatRecord(reaction("👍")), "👍");
  assert.equal(formatRecord(note("good")), "good");
  assert.equal(formatRecord({ feedback_type: "score", payload: { value: 1 } }), "score: 1");
  assert.equal(formatRecord({ feedback_type: "annotation.right", payload: { value: false } }), "right: no");
  assert.equal(
    formatRecord({ feedback_type: "hone.annotation.tone", payload: { value: "kind" } }),
    "tone: kind",
  );
  const judged = { helpful: 0.5, reasons: ["long"] };
  assert.equal(
    formatRecord({ feedback_type: "judge", payload: judged }),
    'judge: helpful 0.5, reasons ["long"]',
  );
  assert.equal(formatRecord({ feedback_type: "seen", payload: {} }), "seen");
  assert.equal(isReaction(reaction("👍"), "👍"), true);
  assert.equal(isReaction({ feedback_type: "score", payload: { emoji: "👍" } }, "👍"), false);
});

test("replaces a thumb by the opposite thumb, and removes a reaction that is chosen again", () => {
  const up = { id: "1", ...reaction("👍") };
  const party = { id: "2", ...reaction("🎉") };
  assert.deepEqual(reactionChange([], "👎"), { isAdded: true, removed: [] });
  assert.deepEqual(reactionChange([up, party], "👎"), { isAdded: true, removed: ["1"] });
  assert.deepEqual(reactionChange([up, party], "👍"), { isAdded: false, removed: ["1"] });
  assert.deepEqual(reactionChange([up], "🎉"), { isAdded: true, removed: [] });
});

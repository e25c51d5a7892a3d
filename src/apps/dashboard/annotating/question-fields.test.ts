// Tests the questions that the form of a new queue describes.
import assert from "node:assert/strict";
import { test } from "node:test";
import { type AnswerKind, questionOf } from "./question-fields.ts";

function schemaFor(kind: AnswerKind, values: string): unknown {
  return questionOf({ name: "tone", text: "", kind, values, isOptional: false }).schema;
}

test("describes each kind of answer as a JSON Schema", () => {
  assert.deepEqual(schemaFor("yes-no", "ignored"), { type: "boolean" });
  assert.deepEqual(schemaFor("choices", "kind, rude,"), { enum: ["kind", "rude"] });
  assert.deepEqual(schemaFor("choices", "kind|rude"), { enum: ["kind", "rude"] });
  assert.deepEqual(schemaFor("range", " 1..5"), { type: "integer", minimum: 1, maximum: 5 });
  assert.deepEqual(schemaFor("range", "-1 - 1"), { type: "integer", minimum: -1, maximum: 1 });
  assert.deepEqual(schemaFor("number", ""), { type: "number" });
  assert.deepEqual(schemaFor("text", ""), { type: "string" });
});

test("shows the name if a question has no text", () => {
  const question = { name: "tone", kind: "text", values: "", isOptional: true } as const;
  assert.equal(questionOf({ ...question, text: "" }).text, "tone");
  assert.equal(questionOf({ ...question, text: "How is it?" }).text, "How is it?");
  assert.equal(questionOf({ ...question, text: "" }).optional, true);
});

test("refuses a single choice and a malformed range", () => {
  assert.throws(() => schemaFor("choices", "kind"), /at least two choices/);
  assert.throws(() => schemaFor("range", "five"), /"five"; write it like 1\.\.5/);
});

// Tests that a record's hash is the hash of its canonical JSON with each field. The hash must never change, because
// retries of older records must still match them.
import assert from "node:assert/strict";
import { test } from "node:test";
import type { FeedbackContent } from "../../base/domain/feedback.ts";
import type { JsonObject } from "../../base/domain/text/json.ts";
import { jsonHash } from "./canonical-json.ts";
import { contentHash } from "./content-hash.ts";

const content: FeedbackContent = {
  projectId: "team/games",
  vendorRef: 'hone:///team/games/call/"1"',
  feedbackType: "score",
  payload: { z: [{ b: 1, a: "\u2028" }], a: null },
  creator: "é",
  annotationRef: null,
  runnableRef: "hone:///team/games/op/judge:d",
  callRef: null,
  triggerRef: null,
  queueId: "q",
};

test("hashes the content's canonical JSON", () => {
  // Safe cast: all fields of the content are JSON.
  assert.equal(contentHash(content), jsonHash(content as unknown as JsonObject));
  // Python's json and hashlib, with sorted keys, computed this hash.
  assert.equal(contentHash(content), "1033ad442547ba7867a1bf46bc47db5ab06878734b5998b9d19f62b014d722e0");
});

test("depends on each field", () => {
  const changed = Object.keys(content).map((field) =>
    contentHash({ ...content, [field]: field === "payload" ? { z: 1 } : "other" }),
  );
  assert.equal(new Set([...changed, contentHash(content)]).size, Object.keys(content).length + 1);
});

// Tests that unpacking a batch returns the records that were packed, in both formats of packs.
import assert from "node:assert/strict";
import { test } from "node:test";
import { type CheckedFeedback, FeedbackPacker, recordsIn } from "./feedback-batch.ts";

function checked(id: string, changes: Partial<CheckedFeedback["content"]> = {}): CheckedFeedback {
  const none = { creator: null, annotationRef: null, runnableRef: null, callRef: null, triggerRef: null };
  const content = { projectId: "team/games", vendorRef: "weave:///team/games/call/a", feedbackType: "score" };
  return {
    id,
    content: { ...content, ...none, queueId: null, payload: { value: 1 }, ...changes },
    contentHash: `hash of ${id}`,
  };
}

const records = [
  checked("plain"),
  checked("all", {
    creator: "",
    annotationRef: "a",
    runnableRef: "r",
    callRef: "c",
    triggerRef: "t",
    queueId: "q",
  }),
  checked("wide", { vendorRef: "other:///é/👍/„“", creator: "Ünïcødé 🙂" }),
  checked("not searchable", { creator: "\u0000", payload: { "half \ud83d": "\u0000" } }),
  ...Array.from({ length: 20 }, (_, index) =>
    checked(`long ${index}`, { payload: { text: "€".repeat(1 << 16) } }),
  ),
  checked("elsewhere", { projectId: "team/other", payload: {} }),
];

for (const form of ["rows", "columns"] as const)
  test(`records packed in ${form} come out in order, in several packs`, () => {
    const packer = new FeedbackPacker(form);
    for (const record of records) packer.add(record, JSON.stringify(record.content.payload));
    const batch = packer.packed();
    assert.deepEqual([...recordsIn(batch)], records);
    assert.ok(batch.packs.length > 2 && batch.packs.every((pack) => pack.form === form));
    const counts = batch.packs.map(({ count }) => count);
    assert.deepEqual(
      [batch.count, counts.reduce((sum, count) => sum + count)],
      [records.length, records.length],
    );
    assert.deepEqual([...recordsIn(new FeedbackPacker(form).packed())], []);
  });

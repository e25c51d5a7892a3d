import assert from "node:assert/strict";
import { test } from "node:test";
import { compare, constant } from "../../base/domain/feedback-query/make-condition.ts";
import type { FeedbackRecord } from "../../base/domain/feedback.ts";
import { FakeClock } from "../../base/domain/testing/fake-clock.ts";
import { sampleFeedback } from "../../store/database/contract/storage-under-test.ts";
import { scannedRecords } from "./scanned-records.ts";

const everything = { projectId: "team/games", condition: compare("eq", constant(1), constant(1)) };

/** Returns a store with endless feedback. Reading a page takes `pageMs` milliseconds. */
function endless(clock: FakeClock, pageMs: number) {
  return {
    scan: async () => {
      await clock.advance(pageMs);
      return { items: [sampleFeedback("1")], last: 1, hasMore: true };
    },
  };
}

test("limits the total time of all pages to that of one query, and reports a timeout", async () => {
  const clock = new FakeClock();
  const found: FeedbackRecord[] = [];
  const source = { records: endless(clock, 400), clock, timeMs: 1000 };
  await assert.rejects(
    async () => {
      for await (const records of scannedRecords(source, everything)) found.push(...records);
    },
    { code: "too_slow", message: /took longer than 1 s, / },
  );
  assert.equal(found.length, 3);
});

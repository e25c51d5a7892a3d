// What a reader of groups holds of the budget, by how large they are.
import assert from "node:assert/strict";
import { test } from "node:test";
import { LargeReading } from "./large-reading.ts";
import { ReadBudget, readerBytes } from "./read-budget.ts";

const mebibyte = 1 << 20;
const never = new AbortController().signal;
const part = "x".repeat(mebibyte);

test("a group that is larger than usual is read with as much as it can have, and that is given back behind it", async () => {
  const budget = new ReadBudget({ bytesMax: 256 * mebibyte, waitingMax: 10, waitSeconds: 60 });
  const share = budget.share("a", never);
  await share.hold(readerBytes);
  const reading = new LargeReading(share, 40 * mebibyte);
  for (let count = 0; count < 2; count++) assert.equal((await reading.bytesOf(part)).length, mebibyte);
  assert.equal(budget.used, readerBytes);
  await reading.bytesOf(part);
  assert.equal(budget.used, 120 * mebibyte);
  const other = budget.share("a", never);
  await other.hold(readerBytes);
  const waits = new LargeReading(other, 40 * mebibyte);
  for (let count = 0; count < 2; count++) await waits.bytesOf(part);
  let isRead = false;
  const third = waits.bytesOf(part).then(() => (isRead = true));
  await new Promise(setImmediate);
  assert.deepEqual([isRead, budget.waitingCount], [false, 1]);
  await reading.end();
  await third;
  assert.equal(budget.used, readerBytes + 120 * mebibyte);
  share.release();
  other.release();
  assert.equal(budget.used, 0);
});

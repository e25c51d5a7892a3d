// Tests exports during concurrent writes. They return each record that exists from start to end exactly once, and in
// order.
import assert from "node:assert/strict";
import { test } from "node:test";
import { always } from "../../../base/domain/feedback-query/condition.ts";
import type { FeedbackRecord } from "../../../base/domain/feedback.ts";
import { storesInMemory } from "../../../store/database/testing/stores-in-memory.ts";
import { recordPages } from "./record-pages.ts";

const projectId = "team/games";
const { signal } = new AbortController();

const recordOf = (id: string): FeedbackRecord => ({
  projectId,
  id,
  vendorRef: "w:///team/games/call/1",
  feedbackType: "note",
  payload: {},
  creator: null,
  vendorUserId: "Ann",
  annotationRef: null,
  runnableRef: null,
  callRef: null,
  triggerRef: null,
  queueId: null,
  contentHash: id,
  createdAt: new Date(0),
});

test("returns each record once in storage order, while others are stored and deleted between pages", async () => {
  const stores = await storesInMemory();
  const { feedback } = stores;
  const ids = Array.from({ length: 3500 }, (_, index) => `r${index}`);
  await feedback.create(ids.map(recordOf));
  const selection = { projectId, condition: always, after: null };
  const turn = { entity: "team", timeMs: 60_000 };
  const found: string[] = [];
  const deleted = new Set<string>();
  let page = 0;
  for await (const records of recordPages(feedback, selection, turn, { signal })) {
    found.push(...records.map(({ id }) => id));
    if (page === 3) break;
    // Deletes the record that was returned last, two later records, and an early one. Adds records whose ids sort
    // first.
    const place = found.length;
    const gone = [ids[place - 1], ids[place], ids[place + 7], ids[3]].filter((id) => id !== undefined);
    for (const id of gone) if (!found.includes(id)) deleted.add(id);
    await feedback.delete(projectId, gone);
    await feedback.create([recordOf(`a${page}`)]);
    page += 1;
  }
  const expected = [...ids.filter((id) => !deleted.has(id)), "a0", "a1", "a2"];
  assert.ok(deleted.size >= 4);
  assert.deepEqual(found, expected);
});

// Tests feedback statistics with real stores, both over all records and over samples.
import assert from "node:assert/strict";
import { test } from "node:test";
import { systemClock } from "../../../base/domain/clock.ts";
import { always } from "../../../base/domain/feedback-query/condition.ts";
import type { FeedbackRecord } from "../../../base/domain/feedback.ts";
import { ServiceError } from "../../../base/domain/service-error.ts";
import type { JsonObject } from "../../../base/domain/text/json.ts";
import { storesInMemory } from "../../../store/database/testing/stores-in-memory.ts";
import { feedbackStatistics, type FeedbackStatistics, type SampleBounds } from "./feedback-statistics.ts";

const projectId = "team/games";
const signal = new AbortController().signal;

interface Given {
  readonly type: string;
  readonly payload: JsonObject;
}

const plenty: SampleBounds = { records: 50_000, characters: 1 << 25 };

async function check(given: readonly Given[], bounds: SampleBounds = plenty): Promise<FeedbackStatistics> {
  const database = await storesInMemory();
  const records = given.map(({ type, payload }, index): FeedbackRecord => {
    const empty = { annotationRef: null, runnableRef: null, callRef: null, triggerRef: null, queueId: null };
    const fixed = { projectId, vendorRef: "w:///team/games/call/1", creator: null, vendorUserId: "Ann" };
    const own = { id: `r${index}`, feedbackType: type, payload, contentHash: "", createdAt: new Date(0) };
    return { ...empty, ...fixed, ...own };
  });
  await database.feedback.create(records);
  const selection = { projectId, condition: always };
  const turn = { entity: "team", timeMs: 60_000 };
  const dependencies = { store: database.feedback, clock: systemClock };
  const statistics = await feedbackStatistics(dependencies, selection, turn, { signal, bounds });
  return statistics;
}

test("counts types, most frequent first, with statistics on their payloads", async () => {
  const stars = [5, 1, 5, 3].map((value) => ({
    type: "rating",
    payload: { stars: value, by: { name: "Ann" }, tags: ["a", "b"] },
  }));
  const { types, ...rest } = await check([{ type: "note", payload: { note: "good" } }, ...stars]);
  assert.deepEqual(rest, { totalCount: 5, otherTypesCount: 0, share: 1, sampleCount: 5 });
  assert.deepEqual(
    types.map(({ feedbackType, totalCount, count }) => [feedbackType, totalCount, count]),
    [
      ["rating", 4, 4],
      ["note", 1, 1],
    ],
  );
  const [found, name, tags] = types[0]?.paths ?? [];
  assert.deepEqual([found?.path, name?.path, tags?.path], ["stars", "by.name", "tags"]);
  assert.deepEqual([found?.numbers?.mean, found?.numbers?.spread?.p50], [3.5, 4]);
  assert.deepEqual(found?.values?.[0], { value: 5, count: 2 });
  assert.deepEqual([name?.kinds, tags?.kinds], [{ text: 4 }, { list: 4 }]);
  assert.deepEqual([name?.numbers, name?.values], [null, [{ value: "Ann", count: 4 }]]);
});

test("samples many records uniformly, but counts types exactly", async () => {
  // Good and bad ratings alternate, and all are higher in the second half. A sample of every second record, or of the
  // oldest records, would therefore have a very different mean.
  const given = Array.from({ length: 8000 }, (_, index) => ({
    type: index % 10 === 0 ? "rare" : "rating",
    payload: { stars: (index % 2) + (index < 4000 ? 0 : 10) },
  }));
  const { types, share, sampleCount, totalCount } = await check(given, { ...plenty, records: 1000 });
  assert.deepEqual([share, totalCount], [0.125, 8000]);
  assert.ok(Math.abs(sampleCount - 1000) < 20, String(sampleCount));
  assert.deepEqual(
    types.map(({ totalCount: count }) => count),
    [7200, 800],
  );
  const mean = types[0]?.paths[0]?.numbers?.mean ?? NaN;
  // The mean of all ratings is 5 4/9. That of 900 independently drawn ratings would deviate by 0.17 on average.
  assert.ok(Math.abs(mean - 49 / 9) < 0.25, String(mean));
});

test("reduces the sample in place of taking longer for long records, and keeps it uniform", async () => {
  const given = Array.from({ length: 640 }, (_, index) => ({
    type: "long",
    payload: { place: index, text: "x".repeat(1000) },
  }));
  const { types, share, sampleCount } = await check(given, { records: 640, characters: 200_000 });
  assert.equal(share, 0.25);
  assert.ok(sampleCount < 200 && sampleCount > 120, String(sampleCount));
  const { numbers, values } = types[0]?.paths.find(({ path }) => path === "place") ?? assert.fail();
  assert.ok(Math.abs((numbers?.mean ?? 0) - 319.5) < 40, String(numbers?.mean));
  // Null, because there are more distinct values than the statistics count.
  assert.equal(values, null);
});

test("only counts records if they have too many types, paths or values", async () => {
  const types = Array.from({ length: 103 }, (_, index) => ({ type: `t${index}`, payload: {} }));
  const wide = Object.fromEntries(Array.from({ length: 104 }, (_, index) => [`p${index}`, index]));
  const found = await check([{ type: "t0", payload: wide }, ...types]);
  assert.deepEqual([found.types.length, found.otherTypesCount], [100, 3]);
  assert.deepEqual([found.types[0]?.paths.length, found.types[0]?.otherCount], [100, 4]);
});

test("reports a timeout of statistics, and how to avoid it", async () => {
  const clock = { ...systemClock, monotonicMs: () => (late += 600) };
  let late = 0;
  const store = {
    countTypes: async () => ({ totalCount: 1, types: [] }),
    scan: async () => ({ items: [], last: 1, hasMore: true }),
  };
  const selection = { projectId, condition: always };
  const ended = async (): Promise<never> => {
    throw new ServiceError({ code: "too_slow", message: "It took longer than 0.4 s." });
  };
  for (const one of [store, { ...store, scan: ended }])
    await assert.rejects(
      feedbackStatistics({ store: one, clock }, selection, { entity: "team", timeMs: 1000 }, { signal }),
      { code: "too_slow", message: /longer than 1 s; ask about fewer/ },
    );
});

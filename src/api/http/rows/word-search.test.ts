// Tests when a search for words answers: with a full page, at the end of the list, or after its time.
import assert from "node:assert/strict";
import { test } from "node:test";
import type { NumberedPageRequest } from "../../../base/domain/page.ts";
import { ServiceError } from "../../../base/domain/service-error.ts";
import { FakeClock } from "../../../base/domain/testing/fake-clock.ts";
import { searchPage } from "./word-search.ts";

/**
 * Searches a list of a thousand numbers for multiples of `factor`. All multiples of five are candidates.
 *
 * @param sliceMs time that the scan of each slice takes
 * @param slowAt number of the slice whose scan exceeds its time limit
 */
async function search(
  { after = 0, limit = 10, factor = 100, sliceMs = 1, slowAt = Number.NaN },
  clock = new FakeClock(),
) {
  let sliceCount = 0;
  const turns: unknown[] = [];
  const list = async ({ after: last, limit: count }: NumberedPageRequest) => {
    const items = Array.from({ length: 1000 }, (_, index) => ({ number: index + 1 }))
      .filter(({ number }) => number > (last ?? 0))
      .slice(0, count);
    const end = items.at(-1)?.number ?? 0;
    return { items, last: end, hasMore: end < 1000 && items.length > 0 };
  };
  const page = await searchPage(
    {
      list,
      candidates: async (items, turn) => {
        sliceCount += 1;
        turns.push(turn);
        await clock.advance(sliceMs);
        if (sliceCount === slowAt) throw new ServiceError({ code: "too_slow", message: "slow" });
        return new Set(items.map(({ number }) => number).filter((number) => number % 5 === 0));
      },
      contains: async ({ number }) => {
        assert.equal(number % 5, 0, "reads only candidates");
        return number % factor === 0;
      },
    },
    { after, limit, order: "asc" },
    { entity: "team", clock },
  );
  assert.deepEqual(turns[0], { entity: "team", timeMs: 10_000 });
  return [page.items.map(({ number }) => number), page.last, page.hasMore, sliceCount] as const;
}

test("fills a page, and continues behind its last item", async () => {
  assert.deepEqual(await search({ limit: 3 }), [[100, 200, 300], 300, true, 2]);
  assert.deepEqual(await search({ after: 300, limit: 3 }), [[400, 500, 600], 600, true, 2]);
  assert.deepEqual(await search({ after: 600 }), [[700, 800, 900, 1000], 1000, false, 2]);
  assert.deepEqual(await search({ limit: 10 }), [
    [100, 200, 300, 400, 500, 600, 700, 800, 900, 1000],
    1000,
    false,
    4,
  ]);
  assert.deepEqual(await search({ after: 1000 }), [[], 0, false, 1]);
});

test("answers after two seconds with the items found so far, even none", async () => {
  assert.deepEqual(await search({ sliceMs: 2000, factor: 1000 }), [[], 5, true, 1]);
  assert.deepEqual(await search({ sliceMs: 1500, factor: 200 }), [[200], 255, true, 2]);
});

test("keeps the items found so far if a later slice is too slow, and fails if the first one is", async () => {
  assert.deepEqual(await search({ slowAt: 3 }), [[100, 200, 300, 400, 500], 500, true, 3]);
  await assert.rejects(search({ slowAt: 1 }), { code: "too_slow" });
});

// Tests that a page of rows ends after a number of rows, at a size in bytes, or after a number of bytes has been
// searched.
import assert from "node:assert/strict";
import { test } from "node:test";
import { rowPage } from "./row-page.ts";
import type { RowChunk } from "./source-rows.ts";

/** Yields groups with two rows each. If `isWanted` is false, the rows are absent, as if a filter had removed them. */
async function* groups(
  count: number,
  { isWanted = true, byteCount = 1 }: { readonly isWanted?: boolean; readonly byteCount?: number } = {},
): AsyncGenerator<RowChunk, void> {
  for (let group = 0; group < count; group++) {
    const lines = isWanted ? [`{"row":"${group}a"}\n`, `{"row":"${group}b"}\n`] : [];
    const bytes = new TextEncoder().encode(lines.join(""));
    const ends = lines.map((line, index) => (index + 1) * line.length);
    const ids = lines.map((_, index) => `log.${group}.${group}.${index}`);
    const last = { sourceId: "log", part: group, group, index: 1 };
    yield { bytes, ends, ids, last, byteCount };
  }
}

async function pageOf(found: AsyncIterable<RowChunk>, limit: number) {
  const pieces = await rowPage(found, { limit });
  const page = JSON.parse(Buffer.concat(pieces).toString()) as {
    readonly data: readonly { readonly row: string }[];
    readonly first_id: string;
    readonly last_id: string;
    readonly has_more: boolean;
  };
  return [page.data.map(({ row }) => row).join(" "), page.first_id, page.last_id, page.has_more];
}

test("ends a page at its limit, and reports whether there are more rows", async () => {
  assert.deepEqual(await pageOf(groups(2), 3), ["0a 0b 1a", "log.0.0.0", "log.1.1.0", true]);
  assert.deepEqual(await pageOf(groups(2), 4), ["0a 0b 1a 1b", "log.0.0.0", "log.1.1.1", false]);
  assert.deepEqual(await pageOf(groups(0), 4), ["", "", "", false]);
});

test("reports where to continue after a long search with few matches", async () => {
  const large = { byteCount: 33 * 1024 * 1024 };
  assert.deepEqual(await pageOf(groups(9, { ...large, isWanted: false }), 4), ["", "", "log.1.1.1", true]);
  assert.deepEqual(await pageOf(groups(9, large), 100), ["0a 0b 1a 1b", "log.0.0.0", "log.1.1.1", true]);
});

// Writes a page of rows as the text of an answer. A page has limits on the number of rows, on their size, and on the
// number of bytes searched for them.
import type { PageRequest } from "../../../base/domain/page.ts";
import { pageBytesMax } from "../../../base/domain/page.ts";
import { rowId } from "../../wire/trajectories/rows.ts";
import type { RowChunk } from "./source-rows.ts";

/** Maximum number of bytes of stored trajectories that are searched for one page. */
const readBytesMax = 64 * 1024 * 1024;

/**
 * Returns the page in pieces. If the search reaches its limit without a match, the page is empty, and its `last_id` is
 * the cursor for the next request.
 */
export async function rowPage(
  chunks: AsyncIterable<RowChunk>,
  { limit }: Pick<PageRequest, "limit">,
): Promise<readonly Uint8Array[]> {
  const rows: Uint8Array[] = [];
  const ids: string[] = [];
  let bytes = 0;
  let readBytes = 0;
  let lastId = "";
  let hasMore = false;
  search: for await (const portion of chunks) {
    for (const [index, end] of portion.ends.entries()) {
      // The line feed that ends a row in the chunk is left out of the page.
      const row = portion.bytes.subarray(index === 0 ? 0 : portion.ends[index - 1], end - 1);
      hasMore = rows.length === limit || (rows.length > 0 && bytes + row.length > pageBytesMax);
      if (hasMore) break search;
      rows.push(row);
      ids.push(portion.ids[index]);
      lastId = portion.ids[index];
      bytes += row.length;
    }
    readBytes += portion.byteCount;
    if (readBytes <= readBytesMax) continue;
    hasMore = true;
    lastId = rowId(portion.last);
    break;
  }
  const encode = (text: string): Uint8Array => new TextEncoder().encode(text);
  const rest = { first_id: ids[0] ?? "", last_id: lastId, has_more: hasMore };
  return [
    encode('{"object":"list","data":['),
    ...rows.flatMap((row, index) => (index === 0 ? [row] : [encode(","), row])),
    encode(`],${JSON.stringify(rest).slice(1)}`),
  ];
}

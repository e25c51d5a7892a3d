// Tests pages whose rows disappear between the two SQL statements that read a page.
import assert from "node:assert/strict";
import { test } from "node:test";
import { storeModel } from "./contract/storage-under-test.ts";
import { readPage } from "./paging.ts";
import { openSqlite } from "./sqlite/sqlite-dialect.ts";
import { openStores } from "./stores.ts";

test("returns the following rows if all rows of a page disappear while it is read", async (t) => {
  const connection = openSqlite({ file: ":memory:", isShared: true });
  const stores = await openStores(connection);
  t.after(() => stores.close());
  for (const id of ["a", "b", "c", "d", "e"]) await storeModel(stores.models, id);
  const leaving = ["a", "b"];
  const left: Promise<unknown>[] = [];
  const rows = connection.queries
    .withPlugin({
      transformQuery: ({ node }) => node,
      transformResult: async ({ result }) => {
        // The deletions run before the next statement of the reader, because all statements queue for the only
        // connection.
        left.push(...leaving.splice(0).map((id) => stores.models.delete(id)));
        return result;
      },
    })
    .selectFrom("models")
    .selectAll();
  const page = await readPage(
    {
      rows,
      orderColumn: "sequence",
      contentColumns: [],
      orderValueOf: async () => undefined,
      itemOf: ({ id }) => id,
    },
    { after: null, limit: 2, order: "asc" },
  );
  await Promise.all(left);
  assert.deepEqual(page, { items: ["c", "d"], hasMore: true });
});

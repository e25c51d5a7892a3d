// Tests backups of a server while clients write to it and its model trains. Each restored backup must be a consistent
// snapshot. tools/bench/backups makes many of them.
import assert from "node:assert/strict";
import { test } from "node:test";
import { searchCount, searchedOf } from "../../src/base/domain/testing/search.ts";
import { createPostgres, withoutPostgres } from "../../src/store/database/testing/postgres-databases.ts";
import { backUpUnderLoad } from "./back-up-under-load.ts";

/** Kinds of databases, with the reason to skip their tests. */
const kinds = [
  ["SQLite", false],
  ["PostgreSQL", withoutPostgres],
] as const;

for (const [kind, skip] of searchedOf(kinds, 1, "server"))
  test(
    `a backup of a server on ${kind} under load is a consistent snapshot with all data acknowledged before`,
    { skip },
    async (t) => {
      const database = kind === "SQLite" ? null : await createPostgres();
      t.after(() => database?.drop());
      const { faults, rows, versions } = await backUpUnderLoad({
        rounds: searchCount(1),
        databaseUrl: database?.url,
      });
      assert.deepEqual(faults, []);
      assert.ok(rows > 0 && versions > 0);
    },
  );

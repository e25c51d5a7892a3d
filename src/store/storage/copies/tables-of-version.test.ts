// What is said of a copy whose tables or columns are not those of its version, of every version that there are copies of.
import assert from "node:assert/strict";
import { test } from "node:test";
import type { TableColumns } from "../../../base/domain/backup/tables.ts";
import { ServiceError } from "../../../base/domain/service-error.ts";
import { firstTablesVersion } from "../migrations/first-tables.ts";
import { newestDatabaseVersion } from "../migrations/migrations.ts";
import { keptTables } from "./kept-tables.ts";
import { requireTablesOf } from "./tables-of-version.ts";

/** The tables of a copy with the columns of one of them replaced. */
function withColumns(table: string, change: (columns: readonly string[]) => readonly string[]) {
  return keptTables.map((of): TableColumns =>
    of.table === table ? { table, columns: change(of.columns) } : of,
  );
}

test("what is missing, unknown or named twice is named", async () => {
  await requireTablesOf(newestDatabaseVersion, keptTables);
  await requireTablesOf(newestDatabaseVersion, keptTables.toReversed());
  const cases: readonly (readonly [readonly TableColumns[], RegExp])[] = [
    [[], /the table sequences is missing, .*, and \d+ more/],
    [keptTables.filter(({ table }) => table !== "jobs"), /: the table jobs is missing\. /],
    [[...keptTables, { table: "servers", columns: ["id"] }], /: the table servers is unknown\. /],
    [[...keptTables, { table: "jobs", columns: ["id"] }], /the table jobs comes twice/],
    [withColumns("files", (columns) => columns.slice(1)), /: the column files\.id is missing\. /],
    [withColumns("files", (columns) => [...columns, "id"]), /: the column files\.id comes twice\. /],
    [
      withColumns("models", (columns) => columns.map((name) => (name === "name" ? 'na"me' : name))),
      /: the column models\.name is missing, the column models\.na"me is unknown\. /,
    ],
  ];
  for (const [tables, message] of cases)
    await assert.rejects(requireTablesOf(newestDatabaseVersion, tables), { code: "invalid", message });
});

test("older copies are compared with the tables that their version had", async () => {
  // As version 26 had them: keys got a name later.
  const { message } = await refusalOf(firstTablesVersion, keptTables);
  assert.match(message, /the table \w+ is unknown|the column \w+\.\w+ is unknown/);
  assert.doesNotMatch(message, /is missing|position/);
  assert.match((await refusalOf(firstTablesVersion, [])).message, /the table access_keys is missing/);
  assert.equal((await refusalOf(firstTablesVersion - 1, keptTables)).code, "unsupported");
  assert.equal((await refusalOf(newestDatabaseVersion + 1, keptTables)).code, "unsupported");
});

async function refusalOf(version: number, tables: readonly TableColumns[]) {
  const refused = await requireTablesOf(version, tables).catch((error: unknown) => error);
  assert.ok(refused instanceof ServiceError, String(refused));
  return refused;
}

// Tests that a copy whose tables or columns do not match its version is refused.
import assert from "node:assert/strict";
import { test } from "node:test";
import type { TableColumns } from "../../../base/domain/backup/tables.ts";
import { ServiceError } from "../../../base/domain/service-error.ts";
import { baselineVersion } from "../migrations/baseline.ts";
import { newestDatabaseVersion } from "../migrations/migrations.ts";
import { requireTablesOf, tablesOfVersion } from "./tables-of-version.ts";

const keptTables = await tablesOfVersion(newestDatabaseVersion);

/** Returns the tables of a copy, in which the columns of one table are changed. */
function withColumns(table: string, change: (columns: readonly string[]) => readonly string[]) {
  return keptTables.map((of): TableColumns =>
    of.table === table ? { table, columns: change(of.columns) } : of,
  );
}

test("names missing, unknown and duplicate tables and columns", async () => {
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

test("refuses copies of versions before the baseline or after the newest", async () => {
  for (const version of [baselineVersion - 1, newestDatabaseVersion + 1]) {
    const { code, message } = await refusalOf(version, keptTables);
    assert.deepEqual([code, message.includes(`of version ${version}`)], ["unsupported", true], message);
  }
});

async function refusalOf(version: number, tables: readonly TableColumns[]) {
  const refused = await requireTablesOf(version, tables).catch((error: unknown) => error);
  assert.ok(refused instanceof ServiceError, String(refused));
  return refused;
}

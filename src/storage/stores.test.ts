// The store contracts on every database there is.
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, describe } from "node:test";
import Sqlite from "libsql";
import { checkCompletionStore } from "./contract/completion-store.ts";
import { checkAnnotationStore } from "./contract/annotation-store.ts";
import { checkFeedbackStore } from "./contract/feedback-store.ts";
import { checkFileStore } from "./contract/file-store.ts";
import { checkJobStore } from "./contract/job-store.ts";
import { checkKeyStore } from "./contract/key-store.ts";
import { checkModelStore } from "./contract/model-store.ts";
import { checkRuleStore } from "./contract/rule-store.ts";
import { checkObjectStore } from "./contract/object-store.ts";
import type { MakeStorage } from "./contract/storage-under-test.ts";
import { checkTraceStore } from "./contract/trace-store.ts";
import { checkTrajectoryOutlines } from "./contract/trajectory-outlines.ts";
import { checkTrajectoryStore } from "./contract/trajectory-store.ts";
import { checkTwoConnections } from "./contract/two-connections.ts";
import { checkTwoServers } from "./contract/two-servers.ts";
import { checkWebhookStore } from "./contract/webhook-store.ts";
import { openSqlite } from "./sqlite/sqlite-dialect.ts";
import { openStores, type Stores } from "./stores.ts";
import { memoryStorage } from "./testing/memory-database.ts";
import { type PgliteServer, startPglite } from "./testing/pglite-dialect.ts";
import { searchSeeds } from "../domain/testing/search.ts";

/**
 * One file for all tests, emptied after each, whose connections are kept: to open one takes longer than most tests. Where a
 * test closes one, it opens others anew.
 */
function sqliteStorage(): MakeStorage {
  // Made by the first test that needs it: without a test nothing would remove it.
  let folder: string | null = null;
  const opened = new Set<Stores>();
  const close = async (databases: readonly Stores[]): Promise<void> => {
    for (const database of databases) {
      opened.delete(database);
      await database.close();
    }
  };
  after(async () => {
    await close([...opened]);
    if (folder !== null) rmSync(folder, { recursive: true });
  });
  return async (t) => {
    folder ??= mkdtempSync(join(tmpdir(), "hone-storage-"));
    const file = join(folder, "data", "hone.db");
    t.after(() => emptyTables(file));
    const unused = [...opened];
    return async () => {
      const database = unused.shift() ?? (await openStores(openSqlite({ file, isShared: true })));
      opened.add(database);
      return { ...database, close: () => close([database, ...unused.splice(0)]) };
    };
  };
}

function emptyTables(file: string): void {
  const connection = new Sqlite(file);
  // A connection that is kept may just be moving its log into the file, as it does when nothing is written for a while.
  connection.exec("pragma busy_timeout = 10000");
  const tables = connection
    .prepare("select name from sqlite_master where type = 'table' and name <> 'database_version'")
    .all() as { readonly name: string }[];
  connection.exec(tables.map(({ name }) => `delete from ${name};`).join("\n"));
  connection.close();
}

/** As with SQLite, but opened by the first test that needs it, since it takes seconds. */
function postgresStorage(): MakeStorage {
  let starting: Promise<PgliteServer> | null = null;
  after(async () => (await starting)?.stop());
  return async (t) => {
    const server = await (starting ??= startPglite());
    t.after(() => server.empty());
    return () => openStores(server.connect());
  };
}

const makeMemory: MakeStorage = async () => {
  const open = memoryStorage();
  return async () => open();
};

for (const [name, storageOf] of [
  ["SQLite", sqliteStorage],
  ["PostgreSQL", postgresStorage],
  ["memory", () => makeMemory],
] as const) {
  describe(name, () => {
    const makeStorage = storageOf();
    checkKeyStore(makeStorage);
    checkModelStore(makeStorage);
    checkJobStore(makeStorage);
    checkTrajectoryStore(makeStorage);
    checkTrajectoryOutlines(makeStorage);
    checkCompletionStore(makeStorage);
    checkFeedbackStore(makeStorage);
    checkFileStore(makeStorage);
    checkRuleStore(makeStorage);
    checkAnnotationStore(makeStorage);
    checkWebhookStore(makeStorage);
    checkObjectStore(makeStorage);
    checkTraceStore(makeStorage);
    checkTwoConnections(makeStorage);
    checkTwoServers(makeStorage, searchSeeds(1));
  });
}

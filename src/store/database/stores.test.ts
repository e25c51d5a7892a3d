// Runs the contracts of the stores on every available kind of database.
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, describe } from "node:test";
import Sqlite from "libsql";
import { checkAnnouncements } from "./contract/servers/pubsub.ts";
import { checkCompletionStore } from "./contract/completion-store.ts";
import { checkAnnotationStore } from "./contract/annotation-store.ts";
import { checkFeedbackStore } from "./contract/feedback-store.ts";
import { checkFileStore } from "./contract/file-store.ts";
import { checkFineTuningStore } from "./contract/fine-tuning-store.ts";
import { checkJobStore } from "./contract/job-store.ts";
import { checkKeyStore } from "./contract/keys/key-store.ts";
import { checkModelStore } from "./contract/model-store.ts";
import { checkRetentionStore } from "./contract/retention/retention-store.ts";
import { checkLearningStore } from "./contract/learning/learning-store.ts";
import { checkRolloutStore } from "./contract/rollout-store.ts";
import { checkRuleStore } from "./contract/rule-store.ts";
import { checkObjectStore } from "./contract/object-store.ts";
import type { MakeStorage } from "./contract/storage-under-test.ts";
import { checkTraceStore } from "./contract/trace-store.ts";
import { checkTrajectoryOutlines } from "./contract/trajectory-outlines.ts";
import { checkWordSearch } from "./contract/searches/word-search.ts";
import { checkTrajectoryStore } from "./contract/trajectory-store.ts";
import { checkTwoConnections } from "./contract/servers/two-connections.ts";
import { checkTwoServers } from "./contract/servers/two-servers.ts";
import { checkLimitStore } from "./contract/keys/limit-store.ts";
import { checkUploadStore } from "./contract/upload-store.ts";
import { checkUsageStore } from "./contract/keys/usage-store.ts";
import { checkWebhookStore } from "./contract/webhook-store.ts";
import { openPostgres } from "./postgres/postgres-dialect.ts";
import { openSqlite } from "./sqlite/sqlite-dialect.ts";
import { openStores, type Stores } from "./stores.ts";
import { createPostgres, type PostgresDatabase, withoutPostgres } from "./testing/postgres-databases.ts";
import { searchSeeds } from "../../base/domain/testing/search.ts";

/**
 * Connections that several tests use, one after the other, because opening a connection takes longer than most tests.
 */
class KeptConnections {
  readonly #open: () => Promise<Stores>;
  readonly #opened = new Set<Stores>();

  constructor(open: () => Promise<Stores>) {
    this.#open = open;
  }

  /**
   * Provides connections for one test. A connection that the test closes stays open for later tests. A test that then
   * opens the database again gets another connection, whose stores keep nothing of the first in memory.
   */
  forTest(): () => Promise<Stores> {
    const unused = [...this.#opened];
    let lastClosed: Stores | null = null;
    return async () => {
      const database = unused.shift() ?? (await this.#open());
      this.#opened.add(database);
      const close = async (): Promise<void> => {
        if (lastClosed !== null) unused.push(lastClosed);
        lastClosed = database;
      };
      return { ...database, close };
    };
  }

  async closeAll(): Promise<void> {
    for (const database of this.#opened) await database.close();
  }
}

/** Provides a SQLite file that all tests share, and that is emptied after each test. */
function sqliteStorage(): MakeStorage {
  // The first test that needs the folder creates it. Without a test, nothing would remove it.
  let made: { readonly folder: string; readonly file: string; readonly emptying: Sqlite.Database } | null =
    null;
  const kept = new KeptConnections(() => openStores(openSqlite({ file: made?.file ?? "", isShared: true })));
  after(async () => {
    await kept.closeAll();
    made?.emptying.close();
    if (made !== null) rmSync(made.folder, { recursive: true });
  });
  return async (t) => {
    if (made === null) {
      const folder = mkdtempSync(join(tmpdir(), "hone-storage-"));
      const file = join(folder, "hone.db");
      made = { folder, file, emptying: new Sqlite(file) };
    }
    const { emptying } = made;
    t.after(() => emptyTables(emptying));
    return kept.forTest();
  };
}

function emptyTables(connection: Sqlite.Database): void {
  // Waits for locks, because an idle connection may be checkpointing its log at this moment.
  connection.exec("pragma busy_timeout = 10000");
  const tables = connection
    .prepare("select name from sqlite_master where type = 'table' and name <> 'database_version'")
    .all() as { readonly name: string }[];
  // Deletes in one transaction, so that SQLite waits for the disk only once.
  const deletions = tables.map(({ name }) => `delete from ${name};`);
  connection.exec(["begin immediate;", ...deletions, "commit;"].join("\n"));
}

/** Provides a database on a PostgreSQL server, in the same way as {@link sqliteStorage}. */
function postgresStorage(): MakeStorage {
  let making: Promise<PostgresDatabase> | null = null;
  const kept = new KeptConnections(async () =>
    openStores(openPostgres({ url: (await making)?.url ?? "", connections: 4 })),
  );
  after(async () => {
    await kept.closeAll();
    await (await making)?.drop();
  });
  return async (t) => {
    const database = await (making ??= createPostgres());
    t.after(() => database.empty());
    return kept.forTest();
  };
}

for (const [name, storageOf, reach, skip] of [
  ["SQLite", sqliteStorage, "connection", false],
  ["PostgreSQL", postgresStorage, "database", withoutPostgres],
] as const) {
  describe(name, { skip }, () => {
    const makeStorage = storageOf();
    checkKeyStore(makeStorage);
    checkUsageStore(makeStorage);
    checkLimitStore(makeStorage);
    checkModelStore(makeStorage);
    checkJobStore(makeStorage);
    checkTrajectoryStore(makeStorage);
    checkTrajectoryOutlines(makeStorage);
    checkCompletionStore(makeStorage);
    checkWordSearch(makeStorage);
    checkFeedbackStore(makeStorage);
    checkFileStore(makeStorage);
    checkUploadStore(makeStorage);
    checkFineTuningStore(makeStorage);
    checkRetentionStore(makeStorage);
    checkRuleStore(makeStorage);
    checkRolloutStore(makeStorage);
    checkLearningStore(makeStorage);
    checkAnnotationStore(makeStorage);
    checkWebhookStore(makeStorage);
    checkObjectStore(makeStorage);
    checkTraceStore(makeStorage);
    checkAnnouncements(makeStorage, reach);
    checkTwoConnections(makeStorage);
    checkTwoServers(makeStorage, searchSeeds(1));
  });
}

// Connects the stores to a SQLite database: a single file, and a lock that reserves the file for one server.
import { dirname, join } from "node:path";
import { Kysely, SqliteAdapter, SqliteIntrospector, SqliteQueryCompiler } from "kysely";
import { LocalAnnouncer } from "../pubsub/announcer.ts";
import type { Connection } from "../dialect.ts";
import type { Schema } from "../schema.ts";
import { directSearches, type Searches } from "../searches/searches.ts";
import { SqliteDriver } from "./sqlite-driver.ts";
import { sqliteForm } from "./sqlite-form.ts";
import { openSqliteSnapshot } from "./sqlite-snapshot.ts";
import { sqliteSearches } from "./sqlite-searches.ts";

export interface SqliteOptions {
  /** Path of the database file, or ":memory:". The file and its folder are created if they are missing. */
  readonly file: string;
  /** True to take no lock, for programs that may run next to a server, or whose file no server uses. */
  readonly isShared?: boolean;
  /** Folder of the server's other data, which is locked, too; by default the folder of the database file. */
  readonly dataFolder?: string;
}

/**
 * Opens a SQLite database for one server at a time. The first query throws `conflict` if another server has the lock.
 */
export function openSqlite({
  file,
  isShared = false,
  dataFolder = dirname(file),
}: SqliteOptions): Connection {
  // Also locks the data folder, so that two servers with different databases conflict if they share the folder.
  const lockFiles = new Set(isShared ? [] : [`${file}.lock`, join(dataFolder, "hone.db.lock")]);
  const fileSearches = file === ":memory:" ? null : sqliteSearches(file);
  const driver = new SqliteDriver(file, lockFiles, fileSearches);
  const queries = new Kysely<Schema>({
    dialect: {
      createAdapter: () => new SqliteAdapter(),
      createDriver: () => driver,
      createIntrospector: (database) => new SqliteIntrospector(database),
      createQueryCompiler: () => new SqliteQueryCompiler(),
    },
  });
  const searches = fileSearches === null ? directSearches(queries) : withErrorsOf(driver, fileSearches);
  return {
    queries,
    name: file,
    kind: "sqlite",
    isExclusive: !isShared,
    isMissingParent,
    isKeyTaken,
    form: sqliteForm,
    searches,
    announcer: new LocalAnnouncer(),
    fault: () => null,
    damage: () => driver.damage,
    readTime: null,
    openSnapshot: async () => openSqliteSnapshot(file),
    // Takes no further lock, because a SQLite transaction locks the whole file from its start.
    lockForMigration: async () => undefined,
    // Takes a connection first, which opens the database if it is not open yet.
    writeEarly: (query) => queries.connection().execute(() => driver.writeEarly(query)),
  };
}

/**
 * Wraps searches so that their errors are converted like those of other statements. Searches run in sessions of their
 * own.
 */
function withErrorsOf({ errorOf }: SqliteDriver, searches: Searches): Searches {
  return {
    run: async (query, turn) => {
      try {
        return await searches.run(query, turn);
      } catch (error) {
        throw errorOf(error);
      }
    },
  };
}

function isMissingParent(error: unknown): boolean {
  return codeOf(error) === "SQLITE_CONSTRAINT_FOREIGNKEY";
}

function isKeyTaken(error: unknown): boolean {
  return ["SQLITE_CONSTRAINT_UNIQUE", "SQLITE_CONSTRAINT_PRIMARYKEY"].includes(codeOf(error));
}

function codeOf(error: unknown): string {
  return error instanceof Error && "code" in error ? String(error.code) : "";
}

/** Returns the paths of all files that SQLite may create for a database file, whether or not they exist. */
export function sqliteFiles(file: string): readonly string[] {
  return ["", "-wal", "-shm", ".lock"].map((end) => `${file}${end}`);
}

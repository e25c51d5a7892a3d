// SQLite as the stores' database: one file, and the lock that keeps it for one server.
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
  /** A path, or ":memory:"; it and its folder are made when missing. */
  readonly file: string;
  /** True for what works beside a running server, or needs none: takes no lock. */
  readonly isShared?: boolean;
  /** What else the server alone uses, locked as the database itself is; the file's folder unless given. */
  readonly dataFolder?: string;
}

/** A SQLite database, of one server at a time; the first query throws `conflict` where another has it. */
export function openSqlite({
  file,
  isShared = false,
  dataFolder = dirname(file),
}: SqliteOptions): Connection {
  // Servers whose databases differ still meet at their data folder.
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
    // A transaction has the whole file from its beginning.
    lockForMigration: async () => undefined,
    // Which opens the database where nothing has yet.
    writeEarly: (query) => queries.connection().execute(() => driver.writeEarly(query)),
  };
}

/** Searches have sessions of their own, whose errors mean the same. */
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

/** What SQLite may make at such a path, whether or not it is there. */
export function sqliteFiles(file: string): readonly string[] {
  return ["", "-wal", "-shm", ".lock"].map((end) => `${file}${end}`);
}

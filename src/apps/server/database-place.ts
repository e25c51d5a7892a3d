// The configured database: its files on this machine, and how to open it. The other modules of this folder do not
// depend on the kind of database.
import { existsSync, statSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import type { DatabaseTables } from "../../base/domain/backup/tables.ts";
import { damagedDatabaseError } from "../../base/domain/transient-errors/damaged-database.ts";
import { requirePlainFile } from "../../base/domain/transient-errors/plain-file.ts";
import { reasonOf } from "./doctor/finding.ts";
import { databaseTables } from "../../store/database/dump/database-tables.ts";
import type { Connection } from "../../store/database/dialect.ts";
import type { PoolOptions } from "../../store/database/postgres/postgres-pool.ts";
import { filesInUrl, isPostgresUrl, shownUrl } from "../../store/database/postgres/postgres-url.ts";
import { takeDataLock } from "../../store/database/sqlite/data-lock.ts";
import { openSqlite, sqliteFiles } from "../../store/database/sqlite/sqlite-dialect.ts";
import { openSqliteSnapshot } from "../../store/database/sqlite/sqlite-snapshot.ts";
import {
  openStores,
  readDatabaseVersions,
  type DatabaseVersions,
  type Stores,
} from "../../store/database/stores.ts";
import type { HoneConfig } from "./config.ts";

export interface DatabasePlace {
  /** Name for messages: the file, or the URL without its password. */
  readonly name: string;
  /** Folder on this machine that the database writes to. */
  readonly folder: string;
  /** Paths of the files that the database may create: the SQLite file and those next to it; empty for PostgreSQL. */
  readonly files: readonly string[];
  /** True if several servers may use the database. */
  readonly isForMany: boolean;
  /** Sentence that says what to do if the database cannot be opened. */
  readonly cure: string;
  /** Returns true if the database exists. For a database server, returns true without asking the server. */
  exists(): boolean;
  open(options: OpenOptions): Promise<Stores>;
  /** Opens the tables: shared to copy them while a server runs, or exclusively to fill them. */
  openTables(options: Pick<OpenOptions, "isShared">): Promise<DatabaseTables>;
  /** Reads the database's version; works while a server runs. The database must exist. */
  readVersions(): Promise<DatabaseVersions>;
  /** Checks a database file for damage and returns a sentence for each fault; always empty for a database server. */
  findDamage(): Promise<readonly string[]>;
}

export interface OpenOptions {
  /** True to open the database while a server may be using it. */
  readonly isShared: boolean;
  /** Called with the reason when the database becomes unreachable, and with null when it is back. */
  readonly onChange?: (fault: string | null) => void;
}

/** Locks a file until release or until this process ends; throws `conflict` if another process has the lock. */
export function takeFileLock(file: string): { release(): void } {
  return takeDataLock(file);
}

/** Returns the location of the configured database. Its URL decides between PostgreSQL and SQLite. */
export function databasePlace({ server }: Pick<HoneConfig, "server">): DatabasePlace {
  const { databaseUrl } = server;
  return databaseUrl !== null && isPostgresUrl(databaseUrl)
    ? postgresPlace(databaseUrl, server)
    : sqlitePlace(databaseUrl, server);
}

function sqlitePlace(
  databaseUrl: string | null,
  { data: dataFolder }: Pick<HoneConfig["server"], "data">,
): DatabasePlace {
  const file =
    databaseUrl === null ? join(dataFolder, "hone.db") : resolve(databaseUrl.replace(/^file:(\/\/)?/, ""));
  return {
    name: file,
    folder: dirname(file),
    files: sqliteFiles(file),
    isForMany: false,
    cure: "Give this user the right to read and write it, or restore a copy of the database file.",
    exists: () => existsSync(file),
    open: ({ isShared }) => openStores(openSqlite({ file, isShared, dataFolder })),
    openTables: async ({ isShared }) => databaseTables(openSqlite({ file, isShared, dataFolder })),
    readVersions: () => readDatabaseVersions(openSqlite({ file, isShared: true, dataFolder })),
    findDamage: async () => {
      try {
        const snapshot = openSqliteSnapshot(file);
        try {
          return await snapshot.faults();
        } finally {
          await snapshot.close();
        }
      } catch (error) {
        // The file is too damaged for a full check.
        if (damagedDatabaseError(error, file) === null) throw error;
        return [reasonOf(error)];
      }
    },
  };
}

/** Number of PostgreSQL connections of a command. Two are enough, because commands run one query after another. */
const connectionsBeside = 2;

function postgresPlace(
  url: string,
  { data: dataFolder, databaseConnections: connections }: HoneConfig["server"],
): DatabasePlace {
  const connect = async (options: Omit<PoolOptions, "url">): Promise<Connection> => {
    for (const file of filesInUrl(url)) {
      const found = statSync(file, { throwIfNoEntry: false });
      if (found !== undefined) requirePlainFile(file, found);
    }
    // Imported only here, so that a server on SQLite does not load it.
    const { openPostgres } = await import("../../store/database/postgres/postgres-dialect.ts");
    return openPostgres({ url, ...options });
  };
  /**
   * Opens the database with a lock on the data folder. A data folder belongs to one server, even if its adapters,
   * files and database are elsewhere.
   */
  const alone = async <Opened extends { close(): Promise<void> }>(
    open: () => Promise<Opened>,
  ): Promise<Opened> => {
    const lock = takeDataLock(join(dataFolder, "hone.db.lock"));
    try {
      const opened = await open();
      return { ...opened, close: () => opened.close().finally(() => lock.release()) };
    } catch (error) {
      lock.release();
      throw error;
    }
  };
  return {
    name: shownUrl(url),
    folder: dataFolder,
    files: [],
    isForMany: true,
    cure: "Start it, or correct HONE_DATABASE_URL: its user needs the right to create tables.",
    exists: () => true,
    open: async ({ isShared, onChange }) => {
      if (isShared) return openStores(await connect({ connections: connectionsBeside }));
      return alone(async () => openStores(await connect({ connections, onChange })));
    },
    openTables: async ({ isShared }) => {
      const open = async (): Promise<DatabaseTables> =>
        databaseTables(await connect({ connections: connectionsBeside }));
      return isShared ? open() : alone(open);
    },
    readVersions: async () => readDatabaseVersions(await connect({ connections: connectionsBeside })),
    findDamage: async () => [],
  };
}

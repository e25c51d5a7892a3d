// The configured database: its files on this machine, and how to open it. No other module in this folder knows the
// kinds of databases.
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
  /** Name for people. */
  readonly name: string;
  /** Folder that it writes to on this machine. */
  readonly folder: string;
  /** Files that it may create there. */
  readonly files: readonly string[];
  /** True if several servers may use it. */
  readonly isForMany: boolean;
  /** Remedy if it cannot be opened. */
  readonly cure: string;
  /** True if it exists; assumed for a database server. */
  exists(): boolean;
  open(options: OpenOptions): Promise<Stores>;
  /** Opens its tables to copy them next to a running server, or to fill them with exclusive access. */
  openTables(options: Pick<OpenOptions, "isShared">): Promise<DatabaseTables>;
  /** Reads its version, even next to a running server; requires that it exists. */
  readVersions(): Promise<DatabaseVersions>;
  /** Checks a database file for damage and returns a sentence per fault; empty for a database server. */
  findDamage(): Promise<readonly string[]>;
}

export interface OpenOptions {
  /** True for work next to a running server. */
  readonly isShared: boolean;
  /** Called with the reason when the database becomes unreachable, and with null when it is back. */
  readonly onChange?: (fault: string | null) => void;
}

/** Takes the lock of a file, which ends with this process; throws `conflict` if another process has it. */
export function takeFileLock(file: string): { release(): void } {
  return takeDataLock(file);
}

/** Returns the place of the configured database. */
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
        // Too damaged to be checked further.
        if (damagedDatabaseError(error, file) === null) throw error;
        return [reasonOf(error)];
      }
    },
  };
}

/** Enough for commands, which run one query after another. */
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
    // Loaded only here, so that a start on SQLite does not load it.
    const { openPostgres } = await import("../../store/database/postgres/postgres-dialect.ts");
    return openPostgres({ url, ...options });
  };
  /** Locks the data folder: it belongs to one server, even if its adapters and files are elsewhere. */
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

// Which database the configuration names: what is on this machine's disk of it, and how it is opened. Nobody else in this
// folder knows which kinds there are.
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
  /** For people. */
  readonly name: string;
  /** Where it writes on this machine. */
  readonly folder: string;
  /** What it may make there. */
  readonly files: readonly string[];
  /** Whether several servers may be on it. */
  readonly isForMany: boolean;
  /** What to do where it cannot be opened. */
  readonly cure: string;
  /** Whether there is one; a server's on another machine is taken to be there. */
  exists(): boolean;
  open(options: OpenOptions): Promise<Stores>;
  /** Its tables, to be copied beside a running server, or to be filled by whoever is there alone. */
  openTables(options: Pick<OpenOptions, "isShared">): Promise<DatabaseTables>;
  /** Its version as it is, also beside a running server; only where it exists. */
  readVersions(): Promise<DatabaseVersions>;
  /** Looks through all of a file for damage, a sentence each; nothing of a database that is a server's on another machine. */
  findDamage(): Promise<readonly string[]>;
}

export interface OpenOptions {
  /** True for what works beside a running server. */
  readonly isShared: boolean;
  /** Called when it is known to be away, with why, and with null when it is back. */
  readonly onChange?: (fault: string | null) => void;
}

/** Takes the lock of a file, which ends with this process; throws `conflict` where another has it. */
export function takeFileLock(file: string): { release(): void } {
  return takeDataLock(file);
}

/** The place of the configured database. */
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
    cure: "Give this user the right to read and write it, or put back a copy of the database file.",
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
        // So damaged that it cannot even be looked through.
        if (damagedDatabaseError(error, file) === null) throw error;
        return [reasonOf(error)];
      }
    },
  };
}

/** What commands need, which ask one thing after another. */
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
    // A start on SQLite loads nothing of it.
    const { openPostgres } = await import("../../store/database/postgres/postgres-dialect.ts");
    return openPostgres({ url, ...options });
  };
  /** What lies in the data folder beside is one server's, wherever it keeps adapters and files. */
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
    cure: "Start it, or mend HONE_DATABASE_URL: its user needs the right to make tables.",
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

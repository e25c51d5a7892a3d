// Which database the configuration names: what is on this machine's disk of it, and how it is opened. SQLite is the only
// kind; nobody else in this folder knows that.
import { existsSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { takeDataLock } from "../storage/sqlite/data-lock.ts";
import { openSqlite, sqliteFiles } from "../storage/sqlite/sqlite-dialect.ts";
import { openStores, readDatabaseVersions, type DatabaseVersions, type Stores } from "../storage/stores.ts";
import type { HoneConfig } from "./config.ts";

export interface DatabasePlace {
  /** For people. */
  readonly name: string;
  /** Where it writes on this machine. */
  readonly folder: string;
  /** What it may make there. */
  readonly files: readonly string[];
  /** Whether there is one. */
  exists(): boolean;
  /** @param options.isShared true for what works beside a running server */
  open(options: { readonly isShared: boolean }): Promise<Stores>;
  /** Its version as it is, also beside a running server; only where it exists. */
  readVersions(): Promise<DatabaseVersions>;
}

/** Takes the lock of a file, which ends with this process; throws `conflict` where another has it. */
export function takeFileLock(file: string): { release(): void } {
  return takeDataLock(file);
}

/** The place of the configured database. */
export function databasePlace({
  server: { databaseUrl, data: dataFolder },
}: Pick<HoneConfig, "server">): DatabasePlace {
  const file =
    databaseUrl === null ? join(dataFolder, "hone.db") : resolve(databaseUrl.replace(/^file:(\/\/)?/, ""));
  return {
    name: file,
    folder: dirname(file),
    files: sqliteFiles(file),
    exists: () => existsSync(file),
    open: ({ isShared }) => openStores(openSqlite({ file, isShared, dataFolder })),
    readVersions: () => readDatabaseVersions(openSqlite({ file, isShared: true, dataFolder })),
  };
}

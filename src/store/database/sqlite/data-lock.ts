// Lock that admits one server per data folder. It is SQLite's own lock, on a small file next to the database. The
// kernel releases it when the process ends in any way, so it is never stale.
import Database from "libsql";
import { ServiceError } from "../../../base/domain/service-error.ts";

/** Holds the lock until it is released or the process ends. */
export interface DataLock {
  release(): void;
}

/**
 * Takes the lock of a data folder.
 *
 * @param file the lock file; created if missing
 * @throws ServiceError `conflict` naming the process that holds it
 */
export function takeDataLock(file: string): DataLock {
  const database = new Database(file);
  try {
    database.exec("PRAGMA busy_timeout = 0");
    database.exec("CREATE TABLE IF NOT EXISTS holder (id INTEGER PRIMARY KEY, process INTEGER NOT NULL)");
    database.exec(`INSERT OR REPLACE INTO holder VALUES (1, ${process.pid})`);
    // Locks only writing, so that others can read who holds the lock.
    database.exec("BEGIN IMMEDIATE");
  } catch (error) {
    const refusal = isBusy(error) ? inUse(file, holderOf(database), error) : error;
    database.close();
    throw refusal;
  }
  let isHeld = true;
  return {
    release: () => {
      if (!isHeld) return;
      isHeld = false;
      database.exec("ROLLBACK");
      database.close();
    },
  };
}

function isBusy(error: unknown): boolean {
  return error instanceof Error && "code" in error && String(error.code).startsWith("SQLITE_BUSY");
}

function holderOf(database: Database.Database): number | null {
  try {
    const row = database.prepare("SELECT process FROM holder WHERE id = 1").all()[0] as
      | { readonly process: number }
      | undefined;
    return row?.process ?? null;
  } catch {
    // The holder's name is only a hint; without it, the refusal is still correct.
    return null;
  }
}

function inUse(file: string, holder: number | null, cause: unknown): ServiceError {
  return new ServiceError({
    code: "conflict",
    message:
      `Another server${holder === null ? "" : ` (process ${holder})`} is using this data folder: it holds ${file}. ` +
      "Stop that one, or start this one with another data folder.",
    cause,
  });
}

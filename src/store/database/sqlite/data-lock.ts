// Lock that lets only one server use a data folder. It is SQLite's own lock on a small file next to the database. The
// kernel releases it when the process ends for any reason, so the lock is never stale.
import Database from "libsql";
import { ServiceError } from "../../../base/domain/service-error.ts";

/** A lock on a data folder. It is held until it is released or the process ends. */
export interface DataLock {
  release(): void;
}

/**
 * Takes the lock of a data folder.
 *
 * @param file the lock file; created if missing
 * @throws ServiceError `conflict`, naming the process that holds the lock
 */
export function takeDataLock(file: string): DataLock {
  const database = new Database(file);
  try {
    database.exec("PRAGMA busy_timeout = 0");
    database.exec("CREATE TABLE IF NOT EXISTS holder (id INTEGER PRIMARY KEY, process INTEGER NOT NULL)");
    database.exec(`INSERT OR REPLACE INTO holder VALUES (1, ${process.pid})`);
    // Keeps other processes from writing, but lets them read the name of the process that holds the lock.
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
    // Without the name of the holding process, the error message is shorter but still correct.
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

// Opens the database of one data folder: the lock, the migrations, the stores.
import { mkdirSync } from "node:fs";
import { dirname, join } from "node:path";
import type { KeyStore } from "../domain/access.ts";
import type { FeedbackStore } from "../domain/feedback.ts";
import type { JobStore } from "../domain/job.ts";
import type { ModelStore } from "../domain/model.ts";
import { fullDiskError } from "../domain/obstacles/full-disk.ts";
import { ServiceError } from "../domain/service-error.ts";
import type { TrajectoryStore } from "../domain/trajectory.ts";
import type { FileStore } from "../domain/uploads/uploaded-file.ts";
import { createFeedbackStore } from "./feedback-store.ts";
import { createFileStore } from "./file-store.ts";
import { createJobStore } from "./jobs/job-store.ts";
import { createKeyStore } from "./key-store.ts";
import { migrate } from "./migrations/migrations.ts";
import { createModelStore } from "./models/model-store.ts";
import { type DataLock, takeDataLock } from "./sqlite/data-lock.ts";
import { openSqlite } from "./sqlite/sqlite-dialect.ts";
import { createTrajectoryStore } from "./trajectory-store.ts";

export interface Database {
  readonly keys: KeyStore;
  readonly models: ModelStore;
  readonly jobs: JobStore;
  readonly trajectories: TrajectoryStore;
  readonly feedback: FeedbackStore;
  readonly files: FileStore;
  /** Idempotent; lets go of the lock too. */
  close(): Promise<void>;
}

export interface DatabaseOptions {
  /** Path of the SQLite file; it and its folder are made when missing. */
  readonly file: string;
  /** True for a command that works beside a running server: takes no lock. */
  readonly isShared?: boolean;
  /** What else this server alone uses: locked as the database itself is. */
  readonly dataFolder?: string;
}

/**
 * Opens the database and brings it to the newest version. What a store has acknowledged is on disk.
 *
 * @throws ServiceError `conflict` when another server uses the file, `unsupported` when a newer program wrote it,
 *   `unavailable` when the disk is full, `internal` when it cannot be opened
 */
export async function openDatabase(options: DatabaseOptions): Promise<Database> {
  const { file, isShared = false, dataFolder = dirname(file) } = options;
  const locks: DataLock[] = [];
  const unlock = (): void => locks.forEach((lock) => lock.release());
  try {
    for (const folder of [dirname(file), dataFolder]) mkdirSync(folder, { recursive: true });
    // Servers whose databases differ still meet at their data folder.
    const lockFiles = new Set([`${file}.lock`, join(dataFolder, "hone.db.lock")]);
    if (!isShared) for (const lockFile of lockFiles) locks.push(takeDataLock(lockFile));
    const connection = openSqlite(file);
    try {
      await migrate(connection);
    } catch (error) {
      await connection.queries.destroy();
      throw error;
    }
    let isOpen = true;
    return {
      keys: createKeyStore(connection.queries),
      models: createModelStore(connection.queries),
      jobs: createJobStore(connection),
      trajectories: createTrajectoryStore(connection.queries),
      feedback: createFeedbackStore(connection.queries),
      files: createFileStore(connection.queries),
      close: async () => {
        if (!isOpen) return;
        isOpen = false;
        try {
          await connection.queries.destroy();
        } finally {
          unlock();
        }
      },
    };
  } catch (cause) {
    unlock();
    if (cause instanceof ServiceError) throw cause;
    const fullDisk = fullDiskError(cause);
    if (fullDisk !== null) throw fullDisk;
    throw new ServiceError({
      code: "internal",
      message: `The database ${file} cannot be opened: ${cause instanceof Error ? cause.message : String(cause)}.`,
      cause,
    });
  }
}

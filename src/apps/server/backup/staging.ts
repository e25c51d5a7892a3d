// Staging folder of a backup, with hard links to files of the data folder. It is in the data folder itself, so that the
// links take no space. Only one backup of a data folder runs at a time, and the next backup or server start removes the
// remains of a dead one.
import { existsSync } from "node:fs";
import { mkdir, rm } from "node:fs/promises";
import { join } from "node:path";
import { backupFolder } from "../../../store/artifacts/server-folder.ts";
import { ServiceError } from "../../../base/domain/service-error.ts";
import { takeFileLock } from "../database-place.ts";

const stagedName = "staged";

/**
 * Runs `work` with an empty staging folder.
 *
 * @throws ServiceError `conflict` during another backup
 */
export async function withStaging<Result>(
  dataFolder: string,
  work: (folder: string) => Promise<Result>,
): Promise<Result> {
  const folder = join(dataFolder, backupFolder);
  await mkdir(folder, { recursive: true });
  const lock = takeLock(folder);
  const staged = join(folder, stagedName);
  try {
    await rm(staged, { recursive: true, force: true });
    await mkdir(staged);
    return await work(staged);
  } finally {
    await rm(staged, { recursive: true, force: true });
    lock.release();
  }
}

/** Removes the remains of a dead backup; returns their names. */
export async function clearStaging(dataFolder: string): Promise<readonly string[]> {
  const folder = join(dataFolder, backupFolder);
  const staged = join(folder, stagedName);
  if (!existsSync(staged)) return [];
  try {
    const lock = takeLock(folder);
    await rm(staged, { recursive: true, force: true });
    lock.release();
    return [`${backupFolder}/${stagedName}`];
  } catch (error) {
    // A backup is in progress and needs its staging folder.
    if (error instanceof ServiceError && error.code === "conflict") return [];
    throw error;
  }
}

function takeLock(folder: string): { release(): void } {
  const file = join(folder, "lock");
  try {
    return takeFileLock(file);
  } catch (cause) {
    if (!(cause instanceof ServiceError) || cause.code !== "conflict") throw cause;
    const message = `Another backup of this data folder is in progress: it holds ${file}. Wait until it has ended.`;
    throw new ServiceError({ code: "conflict", message, cause });
  }
}

// Keeps what the server stores from other users of its machine: new files are their owner's only, and an existing data
// folder is tightened. Leaves alone what others made: `hone.json`, and folders that are not the server's own.
import { chmod, lstat, readdir, stat } from "node:fs/promises";
import { basename, join } from "node:path";
import { isMissing } from "../../store/artifacts/folder-names.ts";
import { cacheFolder, folderNames } from "../../store/artifacts/server-folder.ts";
import { requirePlainFile } from "../../base/domain/transient-errors/plain-file.ts";
import type { Logger } from "../../base/telemetry/logger.ts";
import type { DatabasePlace } from "./database-place.ts";
import { makeFolder } from "./make-folder.ts";

/** Files and folders that this process and those it starts make from now on are readable by their owner only. */
export function keepNewFilesPrivate(): void {
  process.umask(0o077);
}

/** Names that the server creates in its data folder. */
const ownFiles = /^(admin-key|artifacts-id|audit\.jsonl(\.\d+)?|hone\.db(-wal|-shm|\.lock.*)?)$/;

/** Where a server's data lies. */
export interface DataPlaces {
  readonly data: string;
  /** Of adapters and files; may be the same. */
  readonly blobs: string;
  readonly database: Pick<DatabasePlace, "folder" | "files">;
}

/**
 * Makes the folders where they are missing, and takes from others what rights they have on them and on the database.
 *
 * @throws ServiceError `invalid` naming a file of the server's that is not a plain file: it would never be opened, or never end
 */
export async function keepDataPrivate({ data, blobs, database }: DataPlaces, logger: Logger): Promise<void> {
  keepNewFilesPrivate();
  await makeFolder(data, "--data");
  if (blobs !== data) await makeFolder(blobs, "--blobs");
  await makeFolder(database.folder, "--database-url");
  const paths = new Set<string>();
  for (const folder of new Set([data, blobs])) {
    const own = (await readdir(folder)).filter((name) => folderNames.includes(name) || ownFiles.test(name));
    for (const path of [folder, ...own.map((name) => join(folder, name))]) paths.add(path);
  }
  for (const file of database.files) paths.add(file);
  for (const path of paths) {
    const found = await unlessGone(stat(path));
    if (found?.isDirectory() === false) requirePlainFile(path, found);
    await tighten(path, logger);
  }
}

/**
 * Of a file, or a folder that the server made: also what lies in a folder that others could reach. What lies in one that was
 * closed is out of reach with it, and is not looked at: there may be very many. Caches are few, and programs of before had made
 * their files for all to read.
 */
async function tighten(path: string, logger: Logger): Promise<void> {
  // Windows has lists of who may do what, which a mode says nothing of; a folder of a user's own is that user's.
  if (process.platform === "win32") return;
  const found = await unlessGone(stat(path));
  if (found === null) return;
  const { mode } = found;
  const isForEverybody = (mode & 0o1000) !== 0;
  const name = basename(path);
  const isOpen = (mode & 0o077) !== 0 && !isForEverybody;
  try {
    if (isOpen) await chmod(path, mode & 0o700);
    const isOwnFolder = found.isDirectory() && folderNames.includes(name);
    const inside = isOwnFolder && (isOpen || name === cacheFolder) ? await tightenBelow(path) : 0;
    if (!isOpen && inside === 0) return;
    logger.warn(
      { path, before: (mode & 0o777).toString(8), inside },
      "others could reach this; took their rights away",
    );
  } catch (error) {
    logger.warn(
      { path, err: error },
      "other users of this machine can reach this; its owner must run chmod go=",
    );
  }
}

/** @returns how many files and folders it changed */
async function tightenBelow(folder: string): Promise<number> {
  let changed = 0;
  for (const name of await readdir(folder)) {
    const path = join(folder, name);
    const found = await unlessGone(lstat(path));
    // What a symbolic link leads to, or a file has another name for, may be somebody else's: files of a model are linked.
    if (found === null || !(found.isDirectory() || (found.isFile() && found.nlink === 1))) continue;
    if ((found.mode & 0o077) !== 0) {
      await unlessGone(chmod(path, found.mode & 0o700));
      changed += 1;
    }
    if (found.isDirectory()) changed += (await unlessGone(tightenBelow(path))) ?? 0;
  }
  return changed;
}

/** Null where it went meanwhile: a database makes some of its files only while it is open. */
async function unlessGone<Value>(found: Promise<Value>): Promise<Value | null> {
  return found.catch((error: unknown) => {
    if (isMissing(error)) return null;
    throw error;
  });
}

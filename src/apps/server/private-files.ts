// Protects the server's data from other users of the machine. New files are private, and an existing data folder is
// made private. `hone.json` and files and folders that the server did not create are not changed.
import { chmod, lstat, readdir, stat } from "node:fs/promises";
import { basename, join } from "node:path";
import { isMissing } from "../../store/artifacts/folder-names.ts";
import { cacheFolder, folderNames } from "../../store/artifacts/server-folder.ts";
import { requirePlainFile } from "../../base/domain/transient-errors/plain-file.ts";
import type { Logger } from "../../base/telemetry/logger.ts";
import type { DatabasePlace } from "./database-place.ts";
import { makeFolder } from "./make-folder.ts";

/**
 * Sets the umask, so that files and folders that this process and its children create are accessible only to their
 * owner.
 */
export function keepNewFilesPrivate(): void {
  process.umask(0o077);
}

/** Names of the files that the server creates in its data folder. */
const ownFiles = /^(admin-key|artifacts-id|audit\.jsonl(\.\d+)?|hone\.db(-wal|-shm|\.lock.*)?)$/;

/** Folders and files with a server's data. */
export interface DataPlaces {
  readonly data: string;
  /** Folder of adapters and files; may be the data folder. */
  readonly blobs: string;
  readonly database: Pick<DatabasePlace, "folder" | "files">;
}

/**
 * Creates missing folders, and removes other users' access to the server's folders and database.
 *
 * @throws ServiceError `invalid` that names one of the server's files if it is not a plain file, because opening it
 * could hang
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
    const found = await nullIfMissing(stat(path));
    if (found?.isDirectory() === false) requirePlainFile(path, found);
    await makePrivate(path, logger);
  }
}

/**
 * Makes a file or folder private. If others could access a folder, its content is made private too; otherwise the
 * content is not read, because it may be very large. Only caches are always read: they are small, and earlier builds
 * wrote readable files there.
 */
async function makePrivate(path: string, logger: Logger): Promise<void> {
  // Windows uses access control lists, which the file mode does not show. A folder in the user's profile is private
  // there.
  if (process.platform === "win32") return;
  const found = await nullIfMissing(stat(path));
  if (found === null) return;
  const { mode } = found;
  const isForEverybody = (mode & 0o1000) !== 0;
  const name = basename(path);
  const isOpen = (mode & 0o077) !== 0 && !isForEverybody;
  try {
    if (isOpen) await chmod(path, mode & 0o700);
    const isOwnFolder = found.isDirectory() && folderNames.includes(name);
    const inside = isOwnFolder && (isOpen || name === cacheFolder) ? await makeContentPrivate(path) : 0;
    if (!isOpen && inside === 0) return;
    logger.warn(
      { path, before: (mode & 0o777).toString(8), inside },
      "other users could access this; removed their rights",
    );
  } catch (error) {
    logger.warn(
      { path, err: error },
      "other users of this machine can access this; its owner must run chmod go=",
    );
  }
}

/**
 * Makes the content of a folder private.
 *
 * @returns the number of changed files and folders
 */
async function makeContentPrivate(folder: string): Promise<number> {
  let changed = 0;
  for (const name of await readdir(folder)) {
    const path = join(folder, name);
    const found = await nullIfMissing(lstat(path));
    // Skips symbolic links and files with several hard links. Model files are linked, and the target or the second name
    // of such a file may belong to another user.
    if (found === null || !(found.isDirectory() || (found.isFile() && found.nlink === 1))) continue;
    if ((found.mode & 0o077) !== 0) {
      await nullIfMissing(chmod(path, found.mode & 0o700));
      changed += 1;
    }
    if (found.isDirectory()) changed += (await nullIfMissing(makeContentPrivate(path))) ?? 0;
  }
  return changed;
}

/** Returns null if the file has disappeared meanwhile; a database deletes some of its files when it is closed. */
async function nullIfMissing<Value>(found: Promise<Value>): Promise<Value | null> {
  return found.catch((error: unknown) => {
    if (isMissing(error)) return null;
    throw error;
  });
}

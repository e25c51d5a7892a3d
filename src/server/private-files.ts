// Keeps what the server stores from other users of its machine: new files are their owner's only, and an existing data
// folder is tightened. Leaves alone what others made: `hone.json`, and folders that are not the server's own.
import { chmod, readdir, stat } from "node:fs/promises";
import { join } from "node:path";
import { folderNames } from "../artifacts/server-folder.ts";
import type { Logger } from "../telemetry/logger.ts";
import type { DatabasePlace } from "./database-place.ts";
import { makeFolder } from "./make-folder.ts";

/** Files and folders that this process and those it starts make from now on are readable by their owner only. */
export function keepNewFilesPrivate(): void {
  process.umask(0o077);
}

/** What the server makes in its data folder. What lies in its folders is out of reach with them. */
const ownFiles = /^(admin-key|artifacts-id|audit\.jsonl(\.\d+)?|hone\.db(-wal|-shm|\.lock.*)?)$/;

/** Where a server's data lies. */
export interface DataPlaces {
  readonly data: string;
  /** Of adapters and files; may be the same. */
  readonly blobs: string;
  readonly database: Pick<DatabasePlace, "folder" | "files">;
}

/** Makes the folders where they are missing, and takes from others what rights they have on them and on the database. */
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
  for (const path of paths) await tighten(path, logger);
}

async function tighten(path: string, logger: Logger): Promise<void> {
  // Windows has lists of who may do what, which a mode says nothing of; a folder of a user's own is that user's.
  if (process.platform === "win32") return;
  const found = await stat(path).catch((error: unknown) => {
    // A database makes some of its files only while it is open.
    if (error instanceof Error && "code" in error && error.code === "ENOENT") return null;
    throw error;
  });
  if (found === null) return;
  const { mode } = found;
  const isForEverybody = (mode & 0o1000) !== 0;
  if ((mode & 0o077) === 0 || isForEverybody) return;
  try {
    await chmod(path, mode & 0o700);
    logger.warn(
      { path, before: (mode & 0o777).toString(8) },
      "others could reach this; took their rights away",
    );
  } catch (error) {
    logger.warn(
      { path, err: error },
      "other users of this machine can reach this; its owner must run chmod go=",
    );
  }
}

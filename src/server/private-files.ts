// Keeps what the server stores from other users of its machine: new files are their owner's only, and an existing data
// folder is tightened. Leaves alone what others made: `hone.json`, and folders that are not the server's own.
import { chmod, readdir, stat } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import type { Logger } from "../telemetry/logger.ts";
import { makeFolder } from "./make-folder.ts";

/** Files and folders that this process and those it starts make from now on are readable by their owner only. */
export function keepNewFilesPrivate(): void {
  process.umask(0o077);
}

/** What the server makes in its data folder. What lies in its folders is out of reach with them. */
const ownNames =
  /^(adapters|imports|files|jobs|cache|admin-key|audit\.jsonl(\.\d+)?|hone\.db(-wal|-shm|\.lock.*)?)$/;

/** Makes the folders of data and database where they are missing, and takes from others what rights they have on it and on the database. */
export async function keepDataPrivate(
  { dataFolder, databaseFile }: { readonly dataFolder: string; readonly databaseFile: string },
  logger: Logger,
): Promise<void> {
  keepNewFilesPrivate();
  await makeFolder(dataFolder, "--data");
  await makeFolder(dirname(databaseFile), "--database-url");
  const paths = [dataFolder];
  for (const name of await readdir(dataFolder)) if (ownNames.test(name)) paths.push(join(dataFolder, name));
  if (dirname(databaseFile) !== dataFolder) {
    const names = await readdir(dirname(databaseFile)).catch(() => []);
    for (const name of names)
      if (["", "-wal", "-shm", ".lock"].some((end) => name === basename(databaseFile) + end))
        paths.push(join(dirname(databaseFile), name));
  }
  for (const path of paths) await tighten(path, logger);
}

async function tighten(path: string, logger: Logger): Promise<void> {
  const found = await stat(path).catch((error: unknown) => {
    // SQLite removes its files beside the database when the last program that had it open closes it.
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

// Duplicates the files of a folder without using space or time: as hard links, or as copies if the file system has
// none. Removing one of the two leaves the other, and nobody writes to files of artifacts.
import { constants } from "node:fs";
import { copyFile, link, lstat, mkdir, readdir, realpath, stat } from "node:fs/promises";
import { join } from "node:path";
import { isMissing } from "./folder-names.ts";

/** Errors that mean no hard links, or no more for this file. */
const withoutLinks = ["EPERM", "EXDEV", "ENOTSUP", "EOPNOTSUPP", "ENOSYS", "EMLINK", "EACCES"];

/**
 * Opens only plain files. Named pipes and the like, and symbolic links to folders, are linked themselves if the file
 * system can, for the caller to find.
 *
 * @returns false if `from` does not exist; files that vanish meanwhile are skipped
 */
export async function linkFiles(from: string, to: string): Promise<boolean> {
  try {
    // A dangling symbolic link counts as an entry, too.
    const found = await stat(from).catch(() => lstat(from));
    if (found.isDirectory()) await linkFolder(from, to);
    else await linkEntry(from, to);
    return true;
  } catch (error) {
    if (isMissing(error)) return false;
    throw error;
  }
}

async function linkFolder(from: string, to: string): Promise<void> {
  await mkdir(to);
  for (const name of await readdir(from)) {
    const [entry, target] = [join(from, name), join(to, name)];
    const found = await lstat(entry).catch(nullIfMissing);
    if (found?.isDirectory() === true) await linkFolder(entry, target);
    else if (found !== null) await linkEntry(entry, target);
  }
}

async function linkEntry(from: string, to: string): Promise<void> {
  const isFile = (await stat(from).catch(() => null))?.isFile() === true;
  try {
    // Links the target of a symbolic link, since the link may be relative.
    await link(isFile ? await realpath(from) : from, to);
  } catch (error) {
    const code = error instanceof Error && "code" in error ? String(error.code) : "";
    if (!withoutLinks.includes(code)) throw error;
    if (isFile) await copyFile(from, to, constants.COPYFILE_FICLONE);
  }
}

function nullIfMissing(error: unknown): null {
  if (isMissing(error)) return null;
  throw error;
}

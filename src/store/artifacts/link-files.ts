// Duplicates the files of a folder as hard links, which take no space and almost no time; copies them if the file
// system has no hard links. If one duplicate is removed, the other stays. Nobody writes to files of artifacts, so
// linked files never change.
import { constants } from "node:fs";
import { copyFile, link, lstat, mkdir, readdir, realpath, stat } from "node:fs/promises";
import { join } from "node:path";
import { isMissing } from "./folder-names.ts";

/**
 * Error codes for a hard link that cannot be made: links are not possible, or the file has the maximum number of them.
 */
const withoutLinks = ["EPERM", "EXDEV", "ENOTSUP", "EOPNOTSUPP", "ENOSYS", "EMLINK", "EACCES"];

/**
 * Duplicates a file or folder, and opens only plain files. Other entries, such as named pipes and symbolic links to
 * folders, are never opened; if the file system allows it, they are linked too, so that the caller can detect them.
 *
 * @returns false if `from` does not exist; files that are removed meanwhile are skipped
 */
export async function linkFiles(from: string, to: string): Promise<boolean> {
  try {
    // Falls back to `lstat`, because `stat` fails for a dangling symbolic link, which must be linked, too.
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
    // Links to the target of a symbolic link, because a relative symbolic link would point elsewhere from another
    // folder.
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

// The files of a folder a second time, which takes no room and no time: hard links, or copies where the file system has none.
// What is removed at the one place stays at the other, and nobody writes to files of artifacts.
import { constants } from "node:fs";
import { copyFile, link, lstat, mkdir, readdir, realpath, stat } from "node:fs/promises";
import { join } from "node:path";
import { isMissing } from "./folder-names.ts";

/** How file systems say that they have no such links, or no more of this file. */
const withoutLinks = ["EPERM", "EXDEV", "ENOTSUP", "EOPNOTSUPP", "ENOSYS", "EMLINK", "EACCES"];

/**
 * Opens nothing but plain files. Named pipes and the like, and symbolic links to folders, are linked as they are where the
 * file system can, for the caller to find them.
 *
 * @returns false where there is nothing; what goes meanwhile is left out
 */
export async function linkFiles(from: string, to: string): Promise<boolean> {
  try {
    // A symbolic link that leads nowhere is an entry, too.
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
    // The target of a symbolic link, which may be relative.
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

// The files of a folder a second time, which takes no room and no time: hard links, or copies where the file system has none.
// What is removed at the one place stays at the other, and nobody writes to files of artifacts.
import { constants } from "node:fs";
import { copyFile, link, mkdir, readdir, stat } from "node:fs/promises";
import { join } from "node:path";
import { isMissing } from "./folder-names.ts";

/** How file systems say that they have no such links, or no more of this file. */
const withoutLinks = ["EPERM", "EXDEV", "ENOTSUP", "EOPNOTSUPP", "ENOSYS", "EMLINK", "EACCES"];

/** @returns false where there is nothing; what goes meanwhile is left out */
export async function linkFiles(from: string, to: string): Promise<boolean> {
  try {
    if (!(await stat(from)).isDirectory()) await linkFile(from, to);
    else {
      await mkdir(to);
      for (const name of await readdir(from)) await linkFiles(join(from, name), join(to, name));
    }
    return true;
  } catch (error) {
    if (isMissing(error)) return false;
    throw error;
  }
}

async function linkFile(from: string, to: string): Promise<void> {
  try {
    await link(from, to);
  } catch (error) {
    const code = error instanceof Error && "code" in error ? String(error.code) : "";
    if (!withoutLinks.includes(code)) throw error;
    await copyFile(from, to, constants.COPYFILE_FICLONE);
  }
}

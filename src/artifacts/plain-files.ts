// A folder that somebody named, before its files are read by name: none of them may keep a reader waiting.
import { readdirSync, statSync } from "node:fs";
import { join } from "node:path";
import { requirePlainFile } from "../domain/obstacles/plain-file.ts";

/**
 * Follows symbolic links, as the cache of the Hugging Face hub has them; folders in it are left alone.
 *
 * @throws ServiceError `invalid` naming the first entry that is neither a plain file nor a folder
 */
export function requirePlainFiles(folder: string): void {
  for (const name of readdirSync(folder)) {
    const path = join(folder, name);
    const found = statSync(path, { throwIfNoEntry: false });
    if (found?.isDirectory() === false) requirePlainFile(path, found);
  }
}

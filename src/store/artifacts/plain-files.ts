// Opens only plain files, because a named pipe would block its reader.
import { readdirSync, statSync } from "node:fs";
import { open, stat } from "node:fs/promises";
import { join } from "node:path";
import type { Readable } from "node:stream";
import { requirePlainFile } from "../../base/domain/transient-errors/plain-file.ts";
import { notFound } from "../../base/domain/service-error.ts";
import { isMissing } from "./folder-names.ts";

/**
 * Opens a file for reading.
 *
 * @throws ServiceError `not_found` or `invalid`, with the artifact's key in the message
 */
export async function openArtifactFile(path: string, key: string): Promise<Readable> {
  try {
    requirePlainFile(key, await stat(path));
    return (await open(path)).createReadStream();
  } catch (error) {
    throw isMissing(error) ? notFound("artifact", key) : error;
  }
}

/**
 * Checks that a folder contains only plain files. Ignores subfolders. Follows symbolic links, because the cache of the
 * Hugging Face hub uses them.
 *
 * @throws ServiceError `invalid` with the first entry that is neither a plain file nor a folder
 */
export function requirePlainFiles(folder: string): void {
  for (const name of readdirSync(folder)) {
    const path = join(folder, name);
    const found = statSync(path, { throwIfNoEntry: false });
    if (found?.isDirectory() === false) requirePlainFile(path, found);
  }
}

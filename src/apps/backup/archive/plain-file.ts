// Reads plain files in an untrusted folder. Opens nothing else: a named pipe would block its reader, a device may be
// endless, and a symbolic link may lead outside the folder.
import { constants, type Stats } from "node:fs";
import { lstat, open } from "node:fs/promises";
import { join } from "node:path";
import { isMissing } from "../../../store/artifacts/folder-names.ts";
import { otherThanFile } from "../../../base/domain/transient-errors/plain-file.ts";
import { invalid, notFound, type ServiceError } from "../../../base/domain/service-error.ts";

/**
 * Yields the bytes of a file in a folder. The folder itself may be a symbolic link, but the file and the folders
 * between may not.
 *
 * @param path relative path with forward slashes
 * @throws ServiceError `not_found` if the path does not exist; `invalid` if it is not a plain file, or if a parent is
 * not a folder
 */
export async function* readPlainFile(folder: string, path: string): AsyncGenerator<Uint8Array, void> {
  const parts = path.split("/");
  try {
    for (let count = 1; count < parts.length; count++) {
      const parent = join(folder, ...parts.slice(0, count));
      const found = await lstat(parent);
      if (!found.isDirectory()) throw otherKind(parent, otherThanFile(found) ?? "a file", "folder");
    }
    yield* readIfPlain(join(folder, path));
  } catch (error) {
    throw isMissing(error) ? notFound("file", join(folder, path)) : error;
  }
}

async function* readIfPlain(path: string): AsyncGenerator<Uint8Array, void> {
  requirePlain(path, await lstat(path));
  // The file may have been replaced since the check. So opening it must neither follow a link nor block; Windows lacks
  // both flags.
  const { O_RDONLY, O_NOFOLLOW, O_NONBLOCK } = constants;
  const file = await open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK);
  try {
    requirePlain(path, await file.stat());
    yield* file.createReadStream({ autoClose: false }) as AsyncIterable<Uint8Array>;
  } finally {
    await file.close();
  }
}

function requirePlain(path: string, found: Stats): void {
  const kind = otherThanFile(found);
  if (kind !== null) throw otherKind(path, kind, "plain file");
}

function otherKind(path: string, kind: string, wanted: string): ServiceError {
  const message = `${path} is ${kind}, where a ${wanted} should be. It was not opened. Take another copy.`;
  return invalid(message);
}

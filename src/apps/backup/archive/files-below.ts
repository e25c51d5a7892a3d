// Lists all files below a folder, sorted by path. Does not follow symbolic links.
import { lstat, readdir } from "node:fs/promises";
import { join } from "node:path";
import { otherThanFile } from "../../../base/domain/transient-errors/plain-file.ts";

export interface FoundFile {
  /** Path relative to the listed folder, with forward slashes; empty if the listed path is itself a file. */
  readonly name: string;
  readonly bytes: number;
  /** Description of an entry that is not a plain file, such as "a named pipe"; null for a plain file. */
  readonly other: string | null;
}

/**
 * Lists the files at or below a path.
 *
 * @throws the file system's error if the path does not exist
 */
export async function listFiles(path: string): Promise<readonly FoundFile[]> {
  const found = await lstat(path);
  if (!found.isDirectory()) return [{ name: "", bytes: found.size, other: otherThanFile(found) }];
  const files: FoundFile[] = [];
  for (const name of (await readdir(path)).toSorted())
    for (const below of await listFiles(join(path, name)))
      files.push({ ...below, name: below.name === "" ? name : `${name}/${below.name}` });
  return files;
}

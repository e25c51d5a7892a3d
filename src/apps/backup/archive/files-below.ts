// Lists the files below a folder in the order of their paths. Follows no symbolic links.
import { lstat, readdir } from "node:fs/promises";
import { join } from "node:path";
import { otherThanFile } from "../../../base/domain/transient-errors/plain-file.ts";

export interface FoundFile {
  /** Relative, with forward slashes; empty if the path itself is a file. */
  readonly name: string;
  readonly bytes: number;
  /** Kind of an entry that is not a plain file, for people; null for a plain file. */
  readonly other: string | null;
}

/** @throws the system's error if the path does not exist */
export async function listFiles(path: string): Promise<readonly FoundFile[]> {
  const found = await lstat(path);
  if (!found.isDirectory()) return [{ name: "", bytes: found.size, other: otherThanFile(found) }];
  const files: FoundFile[] = [];
  for (const name of (await readdir(path)).toSorted())
    for (const below of await listFiles(join(path, name)))
      files.push({ ...below, name: below.name === "" ? name : `${name}/${below.name}` });
  return files;
}

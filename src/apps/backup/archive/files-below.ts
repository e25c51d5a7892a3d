// The files in a folder and the folders below it, in the order of their paths. Follows no symbolic links.
import { lstat, readdir } from "node:fs/promises";
import { join } from "node:path";
import { otherThanFile } from "../../../base/domain/transient-errors/plain-file.ts";

export interface FoundFile {
  /** Relative, with forward slashes; empty where the path is a file itself. */
  readonly name: string;
  readonly bytes: number;
  /** The kind of what cannot be read as a file, for people; null for a plain file. */
  readonly other: string | null;
}

/** @throws what the system says where there is nothing */
export async function filesBelow(path: string): Promise<readonly FoundFile[]> {
  const found = await lstat(path);
  if (!found.isDirectory()) return [{ name: "", bytes: found.size, other: otherThanFile(found) }];
  const files: FoundFile[] = [];
  for (const name of (await readdir(path)).toSorted())
    for (const below of await filesBelow(join(path, name)))
      files.push({ ...below, name: below.name === "" ? name : `${name}/${below.name}` });
  return files;
}

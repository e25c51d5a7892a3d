// The files in a folder and the folders below it, in the order of their paths.
import { readdir, stat } from "node:fs/promises";
import { join } from "node:path";

export interface FoundFile {
  /** Relative, with forward slashes; empty where the path is a file itself. */
  readonly name: string;
  readonly bytes: number;
}

/** @throws what the system says where there is nothing */
export async function filesBelow(path: string): Promise<readonly FoundFile[]> {
  const found = await stat(path);
  if (!found.isDirectory()) return [{ name: "", bytes: found.size }];
  const files: FoundFile[] = [];
  for (const name of (await readdir(path)).toSorted())
    for (const below of await filesBelow(join(path, name)))
      files.push({ ...below, name: below.name === "" ? name : `${name}/${below.name}` });
  return files;
}

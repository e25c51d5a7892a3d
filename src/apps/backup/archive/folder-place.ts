// An archive in a folder.
import { existsSync, statSync } from "node:fs";
import { mkdir, open, readdir, rename, rm, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { ServiceError } from "../../../base/domain/service-error.ts";
import { flush, makeFolder } from "../../../store/artifacts/flush.ts";
import type { ArchivePlace } from "./archive-place.ts";
import { readPlainFile } from "./plain-file.ts";

export function folderPlace(folder: string): ArchivePlace {
  const at = (path: string): string => join(folder, path);
  return {
    name: folder,
    make: () => makeFolder(folder),
    isEmpty: async () => {
      const found = statSync(folder, { throwIfNoEntry: false });
      if (found === undefined) return true;
      if (!found.isDirectory())
        throw new ServiceError({ code: "not_found", message: `${folder} is not a folder.` });
      return (await readdir(folder)).length === 0;
    },
    has: async (path) => existsSync(at(path)),
    files: () => pathsBelow(folder),
    read: (path) => readPlainFile(folder, path),
    create: async (path) => {
      await mkdir(dirname(at(path)), { recursive: true });
      const file = await open(at(path), "wx");
      return {
        write: (bytes) => file.writeFile(bytes),
        close: async () => {
          try {
            await file.sync();
          } finally {
            await file.close();
          }
        },
        abandon: async () => {
          await file.close();
          await rm(at(path), { force: true });
        },
      };
    },
    write: async (path, text) => {
      await writeFile(`${at(path)}.partial`, text, { flush: true });
      await rename(`${at(path)}.partial`, at(path));
    },
    remove: (path) => rm(at(path), { recursive: true, force: true }),
    flush: () => flushFolders(folder),
  };
}

/** Returns the sorted paths of all entries that are not folders. Does not follow symbolic links. */
async function pathsBelow(folder: string): Promise<readonly string[]> {
  const paths: string[] = [];
  const entries = await readdir(folder, { withFileTypes: true });
  for (const entry of entries.toSorted((a, b) => (a.name < b.name ? -1 : 1)))
    if (!entry.isDirectory()) paths.push(entry.name);
    else for (const below of await pathsBelow(join(folder, entry.name))) paths.push(`${entry.name}/${below}`);
  return paths;
}

/** Flushes the directory entries of a folder and of all folders below it. */
async function flushFolders(folder: string): Promise<void> {
  for (const entry of await readdir(folder, { withFileTypes: true }))
    if (entry.isDirectory()) await flushFolders(join(folder, entry.name));
  await flush(folder);
}

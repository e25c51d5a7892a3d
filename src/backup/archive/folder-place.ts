// A folder with an archive, or for one.
import { createReadStream, existsSync } from "node:fs";
import { mkdir, open, readdir, rename, rm, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { flush, makeFolder } from "../../artifacts/flush.ts";
import { isMissing } from "../../artifacts/folder-names.ts";
import { notFound } from "../../domain/service-error.ts";
import type { ArchivePlace } from "./archive-place.ts";
import { filesBelow } from "./files-below.ts";

export function folderPlace(folder: string): ArchivePlace {
  const at = (path: string): string => join(folder, path);
  return {
    name: folder,
    make: () => makeFolder(folder),
    isEmpty: async () => (await readdir(folder)).length === 0,
    has: async (path) => existsSync(at(path)),
    files: async () => (await filesBelow(folder)).map(({ name }) => name),
    read: (path) => readFile(at(path)),
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

async function* readFile(path: string): AsyncGenerator<Uint8Array, void> {
  try {
    yield* createReadStream(path) as AsyncIterable<Uint8Array>;
  } catch (error) {
    throw isMissing(error) ? notFound("file", path) : error;
  }
}

/** Which files there are in a folder, and in those below it. */
async function flushFolders(folder: string): Promise<void> {
  for (const entry of await readdir(folder, { withFileTypes: true }))
    if (entry.isDirectory()) await flushFolders(join(folder, entry.name));
  await flush(folder);
}

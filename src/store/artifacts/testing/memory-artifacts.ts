// For tests: artifacts in memory that behave like artifacts in a remote store. Files that were read stay in a folder as
// long as the store exists.
import { mkdirSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { Readable } from "node:stream";
import { newUuid } from "../../../base/domain/random.ts";
import { notFound } from "../../../base/domain/service-error.ts";
import type { ArtifactStore, ArtifactWriter } from "../artifact-store.ts";
import { requireSealed } from "../seal.ts";

/** Contents of the store, which all servers with the same artifacts share. */
export interface SharedMemory {
  readonly id: string;
  /**
   * Bytes of each file. The key is the artifact's key and the file's name, or only the artifact's key if the artifact
   * is a single file.
   */
  readonly files: Map<string, { readonly bytes: Buffer; readonly at: Date }>;
  /** For each server, by its id, the keys of the artifacts that the server holds (see `ArtifactStore.hold`). */
  readonly held: Map<string, Set<string>>;
}

export function sharedMemory(): SharedMemory {
  return { id: newUuid(), files: new Map(), held: new Map() };
}

/**
 * Opens the in-memory artifact store for a server.
 *
 * @param scratch an empty folder of the server
 */
export function memoryArtifacts(
  { id, files, held }: SharedMemory,
  { scratch, server, mayPut = async () => undefined }: ArtifactWriter & { readonly scratch: string },
): ArtifactStore {
  const isBelow = (path: string, key: string): boolean => path === key || path.startsWith(`${key}/`);
  const below = (key: string): readonly string[] => [...files.keys()].filter((path) => isBelow(path, key));
  const names = (key: string): readonly string[] => [
    ...new Set(
      below(key)
        .filter((path) => path !== key)
        .map((path) => path.slice(key.length + 1).split("/")[0]),
    ),
  ];
  const remove = (key: string): void => below(key).forEach((path) => files.delete(path));
  let writing = 0;
  const put = async <Result>(
    key: string,
    write: (place: string) => Promise<Result>,
    prepare: (place: string) => void,
    mayPutOwn: () => Promise<void> = async () => undefined,
  ): Promise<Result> => {
    const place = join(scratch, `writing-${writing++}`);
    try {
      prepare(place);
      const result = await write(place);
      await mayPut();
      await mayPutOwn();
      remove(key);
      const found = statSync(place).isDirectory() ? readdirSync(place) : [""];
      for (const name of found)
        files.set(name === "" ? key : `${key}/${name}`, {
          bytes: readFileSync(join(place, name)),
          at: new Date(),
        });
      return result;
    } finally {
      rmSync(place, { recursive: true, force: true });
    }
  };
  return {
    placeId: async () => id,
    put: (key, write, options) => put(key, write, (place) => mkdirSync(place), options?.mayPut),
    putFile: (key, write) => put(key, write, () => undefined),
    path: async (key, seal) => {
      const path = join(scratch, "read", key);
      rmSync(path, { recursive: true, force: true });
      for (const file of below(key)) {
        const target = join(scratch, "read", file);
        mkdirSync(dirname(target), { recursive: true });
        writeFileSync(target, files.get(file)?.bytes ?? "");
      }
      if (seal !== null) requireSealed(path, seal);
      return path;
    },
    copyTo: async (key, path) => {
      const found = below(key);
      for (const file of found) {
        const target = join(path, file.slice(key.length));
        mkdirSync(dirname(target), { recursive: true });
        writeFileSync(target, files.get(file)?.bytes ?? "");
      }
      return found.length > 0;
    },
    localPath: async () => null,
    open: async (key) => {
      const file = files.get(key);
      if (file === undefined) throw notFound("artifact", key);
      return Readable.from([file.bytes]);
    },
    has: async (key) => below(key).length > 0,
    names: async (key) => names(key),
    remove: async (key) => remove(key),
    // Does nothing, because unfinished writes are in the memory of a process, and disappear with it.
    removeUnfinished: async () => undefined,
    hold: async (key) => void held.set(server(), (held.get(server()) ?? new Set()).add(key)),
    release: async (key) => void held.get(server())?.delete(key),
    sweepAbandoned: async ({ isLive, isKnown }) => {
      const removed: string[] = [];
      for (const [holder, keys] of held) {
        if (await isLive(holder)) continue;
        for (const key of keys) {
          if (below(key).length === 0 || (await isKnown(key))) continue;
          remove(key);
          removed.push(key);
        }
        held.delete(holder);
      }
      return removed;
    },
    sweep: async (key, { olderThan, isKnown }) => {
      const removed: string[] = [];
      for (const name of names(key)) {
        const child = `${key}/${name}`;
        const isOld = below(child).every((path) => (files.get(path)?.at ?? olderThan) < olderThan);
        if (!isOld || (await isKnown(child))) continue;
        remove(child);
        removed.push(child);
      }
      return removed;
    },
  };
}

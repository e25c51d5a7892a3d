// Stores artifacts in a folder, which several servers may share. A key is the artifact's path in this folder. A server
// keeps its unfinished writes, and notes of artifacts that it holds, in `work/<server>`, so that other servers find
// them after its death.
import { existsSync } from "node:fs";
import { link, mkdir, readdir, readFile, rename, rm, rmdir, stat, writeFile } from "node:fs/promises";
import { dirname, join, resolve } from "node:path";
import type { Readable } from "node:stream";
import { systemClock } from "../../base/domain/clock.ts";
import { newUuid } from "../../base/domain/random.ts";
import type { PlacedArtifacts } from "./artifact-place.ts";
import type { ArtifactStore, ArtifactWriter } from "./artifact-store.ts";
import { isMissing, namesIn } from "./folder-names.ts";
import { flush, keepName, makeFolder } from "./flush.ts";
import { linkFiles } from "./link-files.ts";
import { openArtifactFile } from "./plain-files.ts";
import { requireSealed, type Seal } from "./seal.ts";
import { workFolder, workOf } from "./server-folder.ts";

export interface FolderArtifactsOptions extends ArtifactWriter {
  readonly root: string;
}

type Among<Name extends "sweepAbandoned" | "sweep"> = Parameters<ArtifactStore[Name]>[Name extends "sweep"
  ? 1
  : 0];

export class FolderArtifacts implements PlacedArtifacts {
  readonly #options: FolderArtifactsOptions;

  constructor(options: FolderArtifactsOptions) {
    this.#options = options;
  }

  get place(): PlacedArtifacts["place"] {
    const { root, server } = this.#options;
    return { kind: "folder", root, server: server() };
  }

  async placeId(): Promise<string> {
    const { root } = this.#options;
    const file = join(root, placeFile);
    const known = await readFile(file, "utf8").catch((error: unknown) => {
      if (isMissing(error)) return null;
      throw error;
    });
    if (known !== null) {
      // Flushes the folder even if it existed, because the process that created it may have died before flushing it.
      await keepName(root);
      await flush(root);
      return known.trim();
    }
    await makeFolder(root);
    const unfinished = `${file}.${newUuid()}`;
    try {
      await writeFile(unfinished, `${newUuid()}\n`);
      await flush(unfinished);
      // If another process has created the file meanwhile, its file is kept.
      await link(unfinished, file).catch((error: unknown) => {
        if (!isThere(error)) throw error;
      });
    } finally {
      await rm(unfinished, { force: true });
    }
    return this.placeId();
  }

  put<Result>(
    key: string,
    write: (folder: string) => Promise<Result>,
    options: Pick<ArtifactWriter, "mayPut"> = {},
  ): Promise<Result> {
    const writeFlushed = async (folder: string): Promise<Result> => {
      await mkdir(folder);
      const result = await write(folder);
      for (const name of await readdir(folder)) await flush(join(folder, name));
      return result;
    };
    return this.#put(key, writeFlushed, options);
  }

  putFile<Result>(key: string, write: (file: string) => Promise<Result>): Promise<Result> {
    return this.#put(key, write, {});
  }

  async path(key: string, seal: Seal | null): Promise<string> {
    const path = this.#pathOf(key);
    if (seal !== null) requireSealed(path, seal);
    return path;
  }

  copyTo(key: string, path: string): Promise<boolean> {
    return linkFiles(this.#pathOf(key), path);
  }

  async localPath(key: string): Promise<string | null> {
    return this.#pathOf(key);
  }

  async open(key: string): Promise<Readable> {
    return openArtifactFile(this.#pathOf(key), key);
  }

  async has(key: string): Promise<boolean> {
    return existsSync(this.#pathOf(key));
  }

  async names(key: string): Promise<readonly string[]> {
    return (await namesIn(this.#pathOf(key))).filter((name) => !name.startsWith("."));
  }

  async remove(key: string): Promise<void> {
    const path = this.#pathOf(key);
    await rm(path, { recursive: true, force: true });
    // Also removes the parent folder if it is now empty, because an empty folder belongs to no artifact.
    const isAlone = dirname(key).includes("/") && (await isRemoved(dirname(path)));
    // Flushes the removal to disk. Otherwise, the artifact could reappear after a power failure, and nothing would
    // remove it then.
    await flushNearest(dirname(isAlone ? dirname(path) : path), this.#options.root);
  }

  async removeUnfinished(key: string): Promise<void> {
    const folder = workOf(this.#options);
    const isBelow = (name: string): boolean => /^[.+]/.test(name.slice(nameOf(key).length));
    for (const name of await namesIn(folder))
      if (name.startsWith(nameOf(key)) && isBelow(name))
        await rm(join(folder, name), { recursive: true, force: true });
  }

  async hold(key: string): Promise<void> {
    const folder = await this.#work();
    await writeFile(join(folder, holdNameOf(key)), "");
    await flush(folder);
  }

  async release(key: string): Promise<void> {
    await rm(join(workOf(this.#options), holdNameOf(key)), { force: true });
  }

  async sweepAbandoned({ isLive, isKnown }: Among<"sweepAbandoned">): Promise<readonly string[]> {
    const removed: string[] = [];
    const { root } = this.#options;
    for (const server of await namesIn(join(root, workFolder))) {
      if (await isLive(server)) continue;
      const folder = join(root, workFolder, server);
      for (const key of (await namesIn(folder)).flatMap(heldKeyOf)) {
        if (await isKnown(key)) continue;
        const wasThere = await this.has(key);
        // Removes the artifact even if it seems to be missing: the server that held it may have removed it, but may
        // have died before the removal was durable.
        await this.remove(key);
        if (wasThere) removed.push(key);
      }
      await rm(folder, { recursive: true, force: true });
    }
    return removed;
  }

  async sweep(key: string, { olderThan, isKnown }: Among<"sweep">): Promise<readonly string[]> {
    const removed: string[] = [];
    for (const name of await this.names(key)) {
      const child = `${key}/${name}`;
      const found = await stat(this.#pathOf(child)).catch(() => null);
      if (found === null || found.mtimeMs >= olderThan.getTime() || (await isKnown(child))) continue;
      await this.remove(child);
      removed.push(child);
    }
    return removed;
  }

  async #put<Result>(
    key: string,
    write: (unfinished: string) => Promise<Result>,
    own: Pick<ArtifactWriter, "mayPut">,
  ): Promise<Result> {
    const target = this.#pathOf(key);
    const unfinished = join(await this.#work(), `${nameOf(key)}.${newUuid()}`);
    try {
      const result = await write(unfinished);
      await flush(unfinished);
      const mayPut = async (): Promise<void> => {
        await this.#options.mayPut?.();
        await own.mayPut?.();
      };
      await place(unfinished, target, { root: this.#options.root, mayPut });
      await flush(dirname(target));
      return result;
    } catch (error) {
      await rm(unfinished, { recursive: true, force: true });
      throw error;
    }
  }

  async #work(): Promise<string> {
    const folder = workOf(this.#options);
    await this.#options.mayPut?.();
    await makeFolder(folder, this.#options.root);
    return folder;
  }

  #pathOf(key: string): string {
    return join(this.#options.root, key);
  }
}

/**
 * Moves an unfinished artifact to its final path. A file replaces an existing file atomically. An existing folder is
 * deleted first, which is safe: only a lost attempt at the same write can have left that folder, and nobody uses it.
 */
async function place(
  unfinished: string,
  target: string,
  { root, mayPut }: { readonly root: string; readonly mayPut: () => Promise<void> },
): Promise<void> {
  const isFolder = (await stat(unfinished)).isDirectory();
  for (let tried = 1; ; tried++) {
    await makeFolder(dirname(target), root);
    // Checks the server's lease as late as possible. Even so, a process that is suspended after this check for longer
    // than its lease may overwrite another server's artifact.
    await mayPut();
    if (isFolder) await rm(target, { recursive: true, force: true });
    try {
      return await rename(unfinished, target);
    } catch (error) {
      if (tried === placingTriesMax) throw error;
      // The parent is missing if a concurrent removal deleted it because it was empty. Tries again.
      if (isMissing(error)) continue;
      if (!isHeldForAMoment(error)) throw error;
      await systemClock.sleep(100 * tried);
    }
  }
}

/**
 * Flushes a folder, so that the removal of an entry is durable. If the folder is missing, flushes its nearest existing
 * parent within the root.
 */
async function flushNearest(folder: string, root: string): Promise<void> {
  try {
    await flush(folder);
  } catch (error) {
    if (!isMissing(error)) throw error;
    if (resolve(folder) !== resolve(root)) await flushNearest(dirname(folder), root);
  }
}

/** Removes a folder if it is empty. Resolves to true if it removed the folder. */
function isRemoved(folder: string): Promise<boolean> {
  return rmdir(folder).then(
    () => true,
    () => false,
  );
}

/** True for the errors that Windows reports while another program, such as a virus scanner, has the file open. */
function isHeldForAMoment(error: unknown): boolean {
  const codes = ["EPERM", "EACCES", "EBUSY"];
  return (
    process.platform === "win32" &&
    error instanceof Error &&
    "code" in error &&
    codes.includes(String(error.code))
  );
}

/** Name of the file that contains the storage's id. All other names in the root folder belong to artifacts. */
const placeFile = "artifacts-id";

function isThere(error: unknown): boolean {
  return error instanceof Error && "code" in error && error.code === "EEXIST";
}

const placingTriesMax = 5;

/** Converts a key to a readable file name. */
function nameOf(key: string): string {
  return key.replaceAll("/", "+");
}

const heldEnding = ".held";

function holdNameOf(key: string): string {
  return encodeURIComponent(key) + heldEnding;
}

function heldKeyOf(name: string): readonly string[] {
  return name.endsWith(heldEnding) ? [decodeURIComponent(name.slice(0, -heldEnding.length))] : [];
}

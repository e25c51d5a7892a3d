// Cache on this machine of a bucket's artifacts, limited in bytes, with least-recently-used eviction. Several processes
// of a server share it, and also write files to it before uploading them. An entry gets its final name only when it is
// complete, and then never changes.
import { existsSync } from "node:fs";
import { mkdir, readdir, rename, rm, stat, utimes } from "node:fs/promises";
import { join } from "node:path";
import { type Clock, systemClock } from "../../../base/domain/clock.ts";
import { newUuid } from "../../../base/domain/random.ts";
import { flush } from "../flush.ts";
import { isMissing, namesIn } from "../folder-names.ts";

export interface ArtifactCacheOptions {
  readonly folder: string;
  /** Maximum size of the cache in bytes. The cache may exceed it, because entries that are in use are not evicted. */
  readonly bytesMax: number;
}

/**
 * Time in milliseconds that an entry counts as in use after its last access. During this time, a process may still
 * be loading the adapter or sending the file.
 */
const inUseMs = 600_000;
/** Suffix of incomplete entries. The server removes them when it starts; see `ServerFolder.sweep`. */
const unfinishedEnding = ".partial";

export class ArtifactCache {
  readonly #options: ArtifactCacheOptions;
  readonly #clock: Clock;
  readonly #arriving = new Map<string, Promise<string | null>>();

  constructor(options: ArtifactCacheOptions, clock: Clock = systemClock) {
    this.#options = options;
    this.#clock = clock;
  }

  /** A path that never exists, for callers that ask for a missing artifact. */
  get nowhere(): string {
    return join(this.#options.folder, "nothing");
  }

  /**
   * Returns a path at which to write a new entry. After writing, call {@link keep} to give the entry its name, or
   * {@link discard} to remove it.
   */
  async unfinished(): Promise<string> {
    await mkdir(this.#options.folder, { recursive: true });
    return join(this.#options.folder, `${newUuid()}${unfinishedEnding}`);
  }

  async discard(unfinished: string): Promise<void> {
    await rm(unfinished, { recursive: true, force: true });
  }

  /** Returns the path of an entry and marks the entry as used; null if it is not in the cache. */
  async find(content: string): Promise<string | null> {
    const path = join(this.#options.folder, content);
    if (!existsSync(path)) return null;
    const now = this.#clock.now();
    // Fails if another process has evicted the entry in the meantime; the result is then null.
    return utimes(path, now, now).then(
      () => path,
      () => null,
    );
  }

  /**
   * Returns the path of an entry like `find`. Fetches a missing entry first, once for all concurrent callers.
   *
   * @param bring fetches the entry to the path; resolves to false if there is no such artifact
   */
  async take(content: string, bring: (path: string) => Promise<boolean>): Promise<string | null> {
    const here = await this.find(content);
    if (here !== null) return here;
    const arriving =
      this.#arriving.get(content) ??
      this.#bring(content, bring).finally(() => this.#arriving.delete(content));
    this.#arriving.set(content, arriving);
    return arriving;
  }

  async #bring(content: string, bring: (path: string) => Promise<boolean>): Promise<string | null> {
    const path = await this.unfinished();
    try {
      return (await bring(path)) ? await this.keep(content, path) : null;
    } finally {
      await this.discard(path);
    }
  }

  /**
   * Gives a written entry its final name, and evicts other entries to make room. The caller must have flushed the
   * entry's files.
   */
  async keep(content: string, unfinished: string): Promise<string> {
    const path = join(this.#options.folder, content);
    await flush(unfinished);
    const now = this.#clock.now();
    await utimes(unfinished, now, now);
    await rename(unfinished, path).catch((error: unknown) => {
      // If the entry exists, another process has stored it meanwhile, which is not an error.
      if (!existsSync(path)) throw error;
    });
    await this.#makeRoom();
    return path;
  }

  async #makeRoom(): Promise<void> {
    const { folder, bytesMax } = this.#options;
    const found: { readonly path: string; readonly usedMs: number; readonly byteCount: number }[] = [];
    for (const name of await namesIn(folder)) {
      if (name.endsWith(unfinishedEnding)) continue;
      const path = join(folder, name);
      const entry = await entryOf(path).catch((error: unknown) => {
        if (isMissing(error)) return null;
        throw error;
      });
      if (entry !== null) found.push({ path, ...entry });
    }
    let byteCount = found.reduce((sum, entry) => sum + entry.byteCount, 0);
    const usedBeforeMs = this.#clock.now().getTime() - inUseMs;
    for (const entry of found.toSorted((one, other) => one.usedMs - other.usedMs)) {
      if (byteCount <= bytesMax || entry.usedMs > usedBeforeMs) return;
      // Renames the entry before removing it, so that no process finds a partially removed entry.
      const going = `${entry.path}${unfinishedEnding}`;
      await rename(entry.path, going).catch(() => undefined);
      await this.discard(going);
      byteCount -= entry.byteCount;
    }
  }
}

async function entryOf(path: string): Promise<{ readonly usedMs: number; readonly byteCount: number }> {
  const found = await stat(path);
  const files = found.isDirectory() ? (await readdir(path)).map((name) => join(path, name)) : [path];
  let byteCount = 0;
  for (const file of files) byteCount += (await stat(file)).size;
  return { usedMs: found.mtimeMs, byteCount };
}

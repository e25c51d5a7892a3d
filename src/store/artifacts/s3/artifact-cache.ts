// Cache of a bucket's artifacts on this machine, limited in bytes, with least-recently-used eviction. Several
// processes of a server share it. Files that are about to be uploaded are written to it too; an entry gets its final
// name only when it is complete, and then never changes.
import { existsSync } from "node:fs";
import { mkdir, readdir, rename, rm, stat, utimes } from "node:fs/promises";
import { join } from "node:path";
import { type Clock, systemClock } from "../../../base/domain/clock.ts";
import { newUuid } from "../../../base/domain/random.ts";
import { flush } from "../flush.ts";
import { isMissing, namesIn } from "../folder-names.ts";

export interface ArtifactCacheOptions {
  readonly folder: string;
  /** Maximum size in bytes. The cache may exceed it, because entries that are in use are not evicted. */
  readonly bytesMax: number;
}

/**
 * Time in milliseconds after its last use during which an entry counts as in use. A process may still be loading the
 * adapter or sending the file.
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

  /** Path that never exists, returned for missing artifacts. */
  get nowhere(): string {
    return join(this.#options.folder, "nothing");
  }

  /**
   * Returns a path for a new entry. After writing, call {@link keep} to give the entry its name, or {@link discard} to
   * remove it.
   */
  async unfinished(): Promise<string> {
    await mkdir(this.#options.folder, { recursive: true });
    return join(this.#options.folder, `${newUuid()}${unfinishedEnding}`);
  }

  async discard(unfinished: string): Promise<void> {
    await rm(unfinished, { recursive: true, force: true });
  }

  /** Returns an entry's path and marks it as used; null if it is not cached. */
  async find(content: string): Promise<string | null> {
    const path = join(this.#options.folder, content);
    if (!existsSync(path)) return null;
    const now = this.#clock.now();
    // Returns null if another process has evicted the entry in the meantime.
    return utimes(path, now, now).then(
      () => path,
      () => null,
    );
  }

  /**
   * Returns an entry's path like `find`. A missing entry is fetched first, once for all concurrent callers. @param
   * bring fetches the entry to the path; resolves to false if there is no such artifact
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

  /** Gives a written entry its name and evicts other entries to make room. The entry's files must be flushed. */
  async keep(content: string, unfinished: string): Promise<string> {
    const path = join(this.#options.folder, content);
    await flush(unfinished);
    const now = this.#clock.now();
    await utimes(unfinished, now, now);
    await rename(unfinished, path).catch((error: unknown) => {
      // Not an error if another process has stored the same entry meanwhile.
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
      // The entry is renamed before its removal, so that no process finds a partially removed entry.
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

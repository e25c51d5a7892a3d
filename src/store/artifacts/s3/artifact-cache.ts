// What was fetched of a bucket, or is about to be put there, as files of this machine: bounded in bytes, and what was used
// least recently goes first. Several processes of a server share it; what has its name in it is whole, and stays as it is.
import { existsSync } from "node:fs";
import { mkdir, readdir, rename, rm, stat, utimes } from "node:fs/promises";
import { join } from "node:path";
import { type Clock, systemClock } from "../../../base/domain/clock.ts";
import { newUuid } from "../../../base/domain/random.ts";
import { flush } from "../flush.ts";
import { isMissing, namesIn } from "../folder-names.ts";

export interface ArtifactCacheOptions {
  readonly folder: string;
  /** What is used now stays, also where that is more. */
  readonly bytesMax: number;
}

/** What was used so recently may be read still: an adapter that is loaded, a file that is sent. */
const inUseMs = 600_000;
/** What a start of the server removes; see `ServerFolder.sweep`. */
const unfinishedEnding = ".partial";

export class ArtifactCache {
  readonly #options: ArtifactCacheOptions;
  readonly #clock: Clock;
  readonly #arriving = new Map<string, Promise<string | null>>();

  constructor(options: ArtifactCacheOptions, clock: Clock = systemClock) {
    this.#options = options;
    this.#clock = clock;
  }

  /** Where nothing is, ever. */
  get nowhere(): string {
    return join(this.#options.folder, "nothing");
  }

  /** A path to write at, which goes with {@link discard} or gets its name with {@link keep}. */
  async unfinished(): Promise<string> {
    await mkdir(this.#options.folder, { recursive: true });
    return join(this.#options.folder, `${newUuid()}${unfinishedEnding}`);
  }

  async discard(unfinished: string): Promise<void> {
    await rm(unfinished, { recursive: true, force: true });
  }

  /** Its path, which is used from now on; null where it is not here. */
  async find(content: string): Promise<string | null> {
    const path = join(this.#options.folder, content);
    if (!existsSync(path)) return null;
    const now = this.#clock.now();
    // Another process may have removed it just now.
    return utimes(path, now, now).then(
      () => path,
      () => null,
    );
  }

  /** The same, fetched where it is not here, once for all who ask. @param bring resolves to false where there is none */
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

  /** Gives what was written its name, and makes room for it. Its files are flushed. */
  async keep(content: string, unfinished: string): Promise<string> {
    const path = join(this.#options.folder, content);
    await flush(unfinished);
    const now = this.#clock.now();
    await utimes(unfinished, now, now);
    await rename(unfinished, path).catch((error: unknown) => {
      // Another process has fetched the same meanwhile.
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
      // Nobody sees half of it.
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

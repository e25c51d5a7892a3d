// Stores artifacts in a bucket of an S3-compatible store, which several servers share. Each machine reads them through
// a cache.
//
// - `index/<key>.json`: manifest; the artifact exists while this object does.
// - `data/<key>/<content>/`: pieces of the artifact. No other content ever gets the same name.
// - `work/<server>/`: notes about work that a server has begun (`server-work`).
//
// Reads and lists must be consistent with completed writes and removals, as they are in S3.
import { mkdir, readdir, stat } from "node:fs/promises";
import { dirname, join } from "node:path";
import type { Readable } from "node:stream";
import { type Clock, systemClock } from "../../../base/domain/clock.ts";
import { newUuid } from "../../../base/domain/random.ts";
import { ServiceError } from "../../../base/domain/service-error.ts";
import type { PlacedArtifacts } from "../artifact-place.ts";
import type { ArtifactStore, ArtifactWriter } from "../artifact-store.ts";
import { flush } from "../flush.ts";
import { linkFiles } from "../link-files.ts";
import { openArtifactFile } from "../plain-files.ts";
import { sealMismatchError, requireSealed, type Seal } from "../seal.ts";
import { ArtifactCache, type ArtifactCacheOptions } from "./artifact-cache.ts";
import { forEachConcurrently } from "./for-each-concurrently.ts";
import { BucketClient, readsMax } from "./bucket-client.ts";
import { type BucketPlace, bucketUrl } from "./bucket-place.ts";
import type { FileManifest, Manifest } from "./manifest.ts";
import { ManifestIndex } from "./manifest-index.ts";
import { fetchFiles, storeFile } from "./pieces.ts";
import { folderOfContent, type NotedContent, ServerWork } from "./server-work.ts";

export interface BucketArtifactsOptions extends ArtifactWriter {
  readonly bucket: BucketPlace;
  readonly cache: ArtifactCacheOptions;
  readonly clock?: Clock;
}

type Among<Name extends "sweepAbandoned" | "sweep"> = Parameters<ArtifactStore[Name]>[Name extends "sweep"
  ? 1
  : 0];

/**
 * Time in milliseconds that a manifest is cached. The time is short, because the artifact may be replaced or
 * removed; the pieces in its old manifest then no longer exist.
 */
const freshMs = 10_000;
/** Maximum number of cached manifests; the oldest is dropped first. */
const knownMax = 10_000;
/**
 * Maximum number of attempts to fetch an artifact. An attempt fails if another server replaces the artifact meanwhile.
 */
const fetchesMax = 3;

export class BucketArtifacts implements PlacedArtifacts {
  readonly #options: BucketArtifactsOptions;
  readonly #clock: Clock;
  readonly #bucket: BucketClient;
  readonly #index: ManifestIndex;
  readonly #work: ServerWork;
  readonly #cache: ArtifactCache;
  readonly #known = new Map<string, { readonly manifest: Manifest; readonly readMs: number }>();

  constructor(options: BucketArtifactsOptions) {
    this.#options = options;
    this.#clock = options.clock ?? systemClock;
    this.#bucket = new BucketClient(options.bucket, this.#clock);
    this.#index = new ManifestIndex(this.#bucket);
    this.#work = new ServerWork(this.#bucket, this.#index);
    this.#cache = new ArtifactCache(options.cache, this.#clock);
  }

  get place(): PlacedArtifacts["place"] {
    const { bucket, cache, server } = this.#options;
    return { kind: "bucket", bucket, cache, server: server() };
  }

  /**
   * Derives the id from the bucket's URL, without a request. All servers must therefore be configured with the same
   * URL.
   */
  async placeId(): Promise<string> {
    return bucketUrl(this.#options.bucket);
  }

  put<Result>(
    key: string,
    write: (folder: string) => Promise<Result>,
    options: Pick<ArtifactWriter, "mayPut"> = {},
  ): Promise<Result> {
    const writeFolder = async (folder: string): Promise<Result> => {
      await mkdir(folder);
      return write(folder);
    };
    return this.#put(key, writeFolder, options);
  }

  putFile<Result>(key: string, write: (file: string) => Promise<Result>): Promise<Result> {
    return this.#put(key, write, {});
  }

  async path(key: string, seal: Seal | null): Promise<string> {
    for (let tried = 1; ; tried++) {
      const path = (await this.#bring(key)) ?? this.#cache.nowhere;
      try {
        if (seal !== null) requireSealed(path, seal);
        return path;
      } catch (error) {
        // The files do not match the seal (the expected hash). Another server may have replaced the artifact since its
        // manifest was read from the store or cached.
        if (tried === readsMax) throw error;
        this.#known.delete(key);
        await this.#bucket.pause(tried);
      }
    }
  }

  async copyTo(key: string, path: string): Promise<boolean> {
    let isThere = false;
    for (const each of await this.#index.keysAt(key)) {
      const from = await this.#bring(each);
      if (from === null) continue;
      const target = join(path, each.slice(key.length));
      await mkdir(dirname(target), { recursive: true });
      isThere = (await linkFiles(from, target)) || isThere;
    }
    return isThere;
  }

  async localPath(key: string): Promise<string | null> {
    const known = this.#known.get(key);
    return known === undefined ? null : await this.#cache.find(known.manifest.content);
  }

  async open(key: string): Promise<Readable> {
    return openArtifactFile(await this.path(key, null), key);
  }

  has(key: string): Promise<boolean> {
    return this.#index.has(key);
  }

  names(key: string): Promise<readonly string[]> {
    return this.#index.names(key);
  }

  async remove(key: string): Promise<void> {
    await forEachConcurrently(await this.#index.keysAt(key), async (each) => {
      this.#known.delete(each);
      const manifest = await this.#index.find(each);
      if (manifest === null) return;
      const noted = { server: this.#options.server(), key: each, content: manifest.content };
      await this.#work.note(noted);
      await this.#index.remove(each);
      await this.#work.settle(noted);
    });
  }

  async removeUnfinished(key: string): Promise<void> {
    await this.#work.abandon(this.#options.server(), (noted) => isAtOrBelow(noted, key));
  }

  async hold(key: string): Promise<void> {
    await this.#options.mayPut?.();
    await this.#work.hold(this.#options.server(), key);
  }

  async release(key: string): Promise<void> {
    await this.#work.release(this.#options.server(), key);
  }

  async sweepAbandoned({ isLive, isKnown }: Among<"sweepAbandoned">): Promise<readonly string[]> {
    const removed: string[] = [];
    for (const server of await this.#work.servers()) {
      if (await isLive(server)) continue;
      for (const key of await this.#work.heldKeys(server)) {
        if ((await this.has(key)) && !(await isKnown(key))) {
          await this.remove(key);
          removed.push(key);
        }
        await this.#work.release(server, key);
      }
      await this.#work.abandon(server, () => true);
    }
    return removed;
  }

  async sweep(key: string, { olderThan, isKnown }: Among<"sweep">): Promise<readonly string[]> {
    const removed: string[] = [];
    for (const [name, at] of await this.#index.latest(key)) {
      const child = `${key}/${name}`;
      if (at >= olderThan || (await isKnown(child))) continue;
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
    const unfinished = await this.#cache.unfinished();
    try {
      const result = await write(unfinished);
      await this.#store(key, unfinished, own);
      return result;
    } finally {
      await this.#cache.discard(unfinished);
    }
  }

  /**
   * Uploads an artifact and makes it visible.
   *
   * @param path folder or file, which this function may move or delete
   */
  async #store(key: string, path: string, own: Pick<ArtifactWriter, "mayPut">): Promise<void> {
    const isFolder = (await stat(path)).isDirectory();
    const names = isFolder ? await readdir(path) : [""];
    await this.#options.mayPut?.();
    const noted = { server: this.#options.server(), key, content: newUuid() };
    await this.#work.note(noted);
    const { content } = noted;
    const files: FileManifest[] = [];
    let before: Manifest | null;
    try {
      for (const name of names)
        files.push(
          await storeFile(this.#bucket, folderOfContent(key, content), { path: join(path, name), name }),
        );
      before = await this.#index.find(key);
      if (before !== null) await this.#work.note({ ...noted, content: before.content });
      await this.#options.mayPut?.();
      await own.mayPut?.();
    } catch (error) {
      // Ignores a failure: another server removes the remaining pieces after this server's lease has ended.
      await this.#work.settle(noted).catch(() => undefined);
      throw error;
    }
    const manifest = { content, isFolder, files };
    // If this fails, the manifest may or may not be stored. The note therefore stays, and a later sweep checks whether
    // the artifact exists.
    await this.#index.put(key, manifest);
    await this.#work.keep(noted);
    await this.#cleanUp(noted, before);
    await this.#keepHere(manifest, path);
    this.#remember(key, manifest);
  }

  /**
   * Removes the artifact that the new one replaces, and all artifacts below the key. If that fails, the note stays, and
   * a sweep completes the removal.
   */
  async #cleanUp({ server, key }: NotedContent, before: Manifest | null): Promise<void> {
    try {
      if (before !== null) await this.#work.settle({ server, key, content: before.content });
      for (const below of await this.#index.keysAt(key)) if (below !== key) await this.remove(below);
    } catch {
      // Ignores the error, because the new artifact is already stored.
    }
  }

  /** Adds the uploaded files to the cache, so that this machine need not fetch them. */
  async #keepHere({ content, files }: Manifest, path: string): Promise<void> {
    try {
      for (const { name } of files) await flush(join(path, name));
      await this.#cache.keep(content, path);
    } catch {
      // Ignores errors such as a full disk, because the artifact is in the bucket anyway.
    }
  }

  /** Fetches an artifact and returns the path of its files on this machine; null if there is no such artifact. */
  async #bring(key: string): Promise<string | null> {
    for (let fetched = 0; fetched < fetchesMax; fetched++) {
      if (fetched > 0) await this.#bucket.pause(fetched);
      const manifest = await this.#manifestOf(key);
      if (manifest === null) return null;
      const { content, isFolder, files } = manifest;
      const path = await this.#cache.take(content, async (unfinished) => {
        if (isFolder) await mkdir(unfinished);
        return fetchFiles(this.#bucket, folderOfContent(key, content), { path: unfinished, files });
      });
      if (path !== null) return path;
      this.#known.delete(key);
    }
    const where = bucketUrl(this.#options.bucket);
    throw sealMismatchError("artifact", `pieces of ${JSON.stringify(key)} are missing in ${where}`);
  }

  async #manifestOf(key: string): Promise<Manifest | null> {
    const known = this.#known.get(key);
    if (known !== undefined && this.#clock.monotonicMs() - known.readMs < freshMs) return known.manifest;
    const isHere = known !== undefined && (await this.#cache.find(known.manifest.content)) !== null;
    if (!isHere) return this.#remember(key, await this.#index.find(key));
    try {
      return this.#remember(key, await this.#index.find(key, { isUrgent: true }));
    } catch (error) {
      if (!(error instanceof ServiceError && error.obstacle === "blobs-away")) throw error;
      // Continues to use the cached manifest while the store is unreachable, so that cached artifacts remain available.
      return this.#remember(key, known.manifest);
    }
  }

  #remember<Found extends Manifest | null>(key: string, manifest: Found): Found {
    this.#known.delete(key);
    if (manifest === null) return manifest;
    this.#known.set(key, { manifest, readMs: this.#clock.monotonicMs() });
    for (const oldest of this.#known.keys()) {
      if (this.#known.size <= knownMax) break;
      this.#known.delete(oldest);
    }
    return manifest;
  }
}

function isAtOrBelow(key: string, other: string): boolean {
  return key === other || key.startsWith(`${other}/`);
}

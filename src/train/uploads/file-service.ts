// Service for uploaded files: upload, access and deletion. A file's bytes are stored before its database row is
// written, and deleted after the row is deleted. Bytes without a row are orphans, unless they are so new that their
// row may still be written.
import { readFile, stat, open } from "node:fs/promises";
import type { Readable } from "node:stream";
import { isMissing } from "../../store/artifacts/folder-names.ts";
import { mayReach, reachOf, type Caller } from "../../base/domain/access.ts";
import type { ArtifactStore } from "../../store/artifacts/artifact-store.ts";
import type { Clock } from "../../base/domain/clock.ts";
import { newUuid7 } from "../../base/domain/random.ts";
import { serviceOf, type Service } from "../../base/domain/lifecycle.ts";
import { allItems, type Page, type PageRequest } from "../../base/domain/page.ts";
import { fullDiskError } from "../../base/domain/transient-errors/full-disk.ts";
import { requirePlainFile } from "../../base/domain/transient-errors/plain-file.ts";
import { notFound, ServiceError } from "../../base/domain/service-error.ts";
import type { FileStore, UploadedFile } from "../../base/domain/uploads/uploaded-file.ts";
import type { FileSettings } from "./settings.ts";

export interface FileDependencies {
  readonly store: FileStore;
  readonly clock: Clock;
  readonly artifacts: ArtifactStore;
  readonly settings: FileSettings;
  /** Receives the error of a failed sweep. The next sweep retries. */
  readonly onFault: (error: unknown) => void;
}

/** Stored bytes of an upload that is not a file in the database yet. */
export interface ReceivedFile {
  readonly id: string;
  readonly byteCount: number;
}

/** While started, periodically deletes unused files. */
export interface FileService extends Service {
  /**
   * Writes the content in chunks as they arrive. @throws ServiceError `too_large`, `unavailable`; errors of reading
   * `content`
   */
  receive(content: AsyncIterable<Uint8Array>): Promise<ReceivedFile>;
  /** Returns the whole content of an upload, so that it can be validated before it becomes a file. */
  look(received: ReceivedFile): Promise<Uint8Array<ArrayBuffer>>;
  /**
   * Records the upload durably as a file of the entity.
   *
   * @throws ServiceError `too_large` if the entity's quota is exhausted, `unavailable` if the bytes were removed
   * meanwhile
   */
  keep(
    received: ReceivedFile,
    about: Pick<UploadedFile, "entity" | "name" | "purpose">,
  ): Promise<UploadedFile>;
  /** Removes an upload that will not become a file. */
  discard(received: ReceivedFile): Promise<void>;
  /** @throws ServiceError `not_found`, also for a file of another entity */
  find(id: string, caller: Caller): Promise<UploadedFile>;
  list(purpose: string | null, page: PageRequest, caller: Caller): Promise<Page<UploadedFile>>;
  /** Returns the file's content. @throws ServiceError `not_found` if its bytes are missing */
  read(file: UploadedFile): Promise<Readable>;
  /** Returns the whole content for a request that uses the file. */
  use(file: UploadedFile): Promise<Uint8Array<ArrayBuffer>>;
  delete(file: UploadedFile): Promise<void>;
  /** Deletes bytes without a database row, and files that have been unused for the configured time. */
  sweep(): Promise<void>;
}

const dayMs = 86_400_000;
/**
 * Maximum time in milliseconds between the storing of an upload's bytes and the writing of its row. No server takes
 * that long.
 */
const comingMs = 3_600_000;
const folder = "files";

export function createFileService(dependencies: FileDependencies): FileService {
  const { store, artifacts, clock, settings, onFault } = dependencies;
  /** Ids of uploads that this server has received but not yet kept. */
  const received = new Set<string>();
  const remove = async (id: string): Promise<void> => {
    await store.delete(id);
    await artifacts.remove(keyOf(id));
  };

  const sweep = async (): Promise<void> => {
    await artifacts.sweep(folder, {
      // Newer bytes stay, because another server may be about to write their row.
      olderThan: new Date(clock.now().getTime() - comingMs),
      isKnown: async (key) => {
        const id = key.slice(folder.length + 1);
        return received.has(id) || (await store.find(id)) !== null;
      },
    });
    if (settings.unusedDays === 0) return;
    const unusedSince = new Date(clock.now().getTime() - settings.unusedDays * dayMs);
    const unused: string[] = [];
    const filter = { entity: null, purpose: null, unusedSince };
    for await (const { id } of allItems((page) => store.list(filter, page))) unused.push(id);
    for (const id of unused) await remove(id);
  };

  let sweeping: Promise<void> | null = null;
  const sweepAgain = async (signal: AbortSignal): Promise<void> => {
    while (!signal.aborted) {
      await sweep().catch(onFault);
      // A sleep rejects only when the service stops.
      await clock.sleep(settings.sweepSeconds * 1000, { signal }).catch(() => undefined);
    }
  };

  return {
    ...serviceOf("uploaded files", {
      start: async (signal) => {
        sweeping = sweepAgain(signal);
      },
      stop: async () => {
        await sweeping;
      },
    }),
    receive: async (content) => {
      const id = `file-${newUuid7(clock)}`;
      received.add(id);
      try {
        const write = (file: string) => writeContent(file, content, settings.fileBytes);
        return { id, byteCount: await artifacts.putFile(keyOf(id), write) };
      } catch (error) {
        received.delete(id);
        throw fullDiskError(error) ?? error;
      }
    },
    look: (file) => bytesOf(artifacts, file),
    keep: async ({ id, byteCount }, about) => {
      const now = clock.now();
      const file = { id, ...about, byteCount, createdAt: now, usedAt: now };
      await store.create(file, settings.entityBytes);
      received.delete(id);
      // The bytes may be missing: a server whose clock is hours ahead considers a new upload abandoned.
      if (await artifacts.has(keyOf(id))) return file;
      await store.delete(id);
      throw gone();
    },
    discard: async ({ id }) => {
      received.delete(id);
      if ((await store.find(id)) === null) await artifacts.remove(keyOf(id));
    },
    find: async (id, caller) => {
      const file = await store.find(id);
      if (file === null || !mayReach(caller, { entity: file.entity, project: null }))
        throw notFound("file", id);
      return file;
    },
    list: (purpose, page, caller) => {
      const entity = reachOf(caller)?.entity ?? null;
      return store.list({ entity, purpose, unusedSince: null }, page);
    },
    read: ({ id }) => artifacts.open(keyOf(id)),
    use: async (file) => {
      await store.use(file.id, clock.now());
      return bytesOf(artifacts, file);
    },
    delete: ({ id }) => remove(id),
    sweep,
  };
}

function gone(): ServiceError {
  const message =
    "The file was removed before it was kept, by a server whose clock is ahead. Send it again, and have the servers' clocks agree.";
  return new ServiceError({ code: "unavailable", message });
}

function keyOf(id: string): string {
  return `${folder}/${id}`;
}

/** Reads the whole file into a new buffer. @throws ServiceError `not_found` */
async function bytesOf(
  artifacts: ArtifactStore,
  { id }: Pick<ReceivedFile, "id">,
): Promise<Uint8Array<ArrayBuffer>> {
  try {
    const path = await artifacts.path(keyOf(id), null);
    requirePlainFile(keyOf(id), await stat(path));
    return await readFile(path);
  } catch (error) {
    throw isMissing(error) ? notFound("file", id) : error;
  }
}

/**
 * Writes all chunks. Returns the number of bytes.
 *
 * @throws ServiceError `too_large` beyond `bytesMax`; errors of reading `content`
 */
async function writeContent(
  file: string,
  content: AsyncIterable<Uint8Array>,
  bytesMax: number,
): Promise<number> {
  const handle = await open(file, "w");
  try {
    let byteCount = 0;
    for await (const piece of content) {
      byteCount += piece.length;
      if (byteCount > bytesMax) throw tooLarge(bytesMax);
      // Unlike `write`, `appendFile` continues after a partial write.
      await handle.appendFile(piece);
    }
    return byteCount;
  } finally {
    await handle.close();
  }
}

function tooLarge(bytesMax: number): ServiceError {
  const message = `The file has more than ${bytesMax} bytes, the most that a file may have. Upload it in parts.`;
  return new ServiceError({ code: "too_large", message });
}

// Uploaded files: whose they are, how they come and go. The bytes are stored before the database knows a file, and leave
// behind it: what is old and not known is nobody's.
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
  /** Told what a sweep could not do; it tries again. */
  readonly onFault: (error: unknown) => void;
}

/** A file whose bytes are stored, and that nobody can name yet. */
export interface ReceivedFile {
  readonly id: string;
  readonly byteCount: number;
}

/** Running, it deletes from time to time what nobody uses. */
export interface FileService extends Service {
  /** Writes the bytes as they come. @throws ServiceError `too_large`, `unavailable`; what reading them throws */
  receive(content: AsyncIterable<Uint8Array>): Promise<ReceivedFile>;
  /** The whole of it, to be looked at before it is kept. */
  look(received: ReceivedFile): Promise<Uint8Array<ArrayBuffer>>;
  /**
   * Makes it a file of the entity, durably.
   *
   * @throws ServiceError `too_large` where the entity has no room left, `unavailable` where its bytes were removed meanwhile
   */
  keep(
    received: ReceivedFile,
    about: Pick<UploadedFile, "entity" | "name" | "purpose">,
  ): Promise<UploadedFile>;
  /** Removes what is not to be kept. */
  discard(received: ReceivedFile): Promise<void>;
  /** @throws ServiceError `not_found`, also for what is another entity's */
  find(id: string, caller: Caller): Promise<UploadedFile>;
  list(purpose: string | null, page: PageRequest, caller: Caller): Promise<Page<UploadedFile>>;
  /** @throws ServiceError `not_found` where its bytes are gone */
  read(file: UploadedFile): Promise<Readable>;
  /** The whole file, for a request that names it. */
  use(file: UploadedFile): Promise<Uint8Array<ArrayBuffer>>;
  delete(file: UploadedFile): Promise<void>;
  /** Deletes what nobody knows, and what nobody has used for long. */
  sweep(): Promise<void>;
}

const dayMs = 86_400_000;
/** Longer than any server takes to look at a file that it received, and to keep it. */
const comingMs = 3_600_000;
const folder = "files";

export function createFileService(dependencies: FileDependencies): FileService {
  const { store, artifacts, clock, settings, onFault } = dependencies;
  /** What this server has received and not kept yet. */
  const received = new Set<string>();
  const remove = async (id: string): Promise<void> => {
    await store.delete(id);
    await artifacts.remove(keyOf(id));
  };

  const sweep = async (): Promise<void> => {
    await artifacts.sweep(folder, {
      // Another server may be about to keep what is newer.
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
      // Rejects when the service stops.
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
      // A server whose clock is hours ahead takes what came just now for abandoned.
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

/** The whole file, in memory of its own. @throws ServiceError `not_found` */
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
 * Writes all pieces; returns how many bytes they have.
 *
 * @throws ServiceError `too_large` beyond `bytesMax`; what reading `content` throws
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
      // Unlike `write`, it goes on where a write was cut short.
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

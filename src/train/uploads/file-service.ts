// Service for uploaded files: upload, access and deletion. It stores a file's bytes before its database row, and
// deletes the row before the bytes. It removes bytes without a row, unless they are so new that their row may still be
// written.
import { readFile, stat } from "node:fs/promises";
import type { Readable } from "node:stream";
import { isMissing } from "../../store/artifacts/folder-names.ts";
import { mayReach, reachOf, type Caller } from "../../base/domain/access.ts";
import type { ArtifactStore } from "../../store/artifacts/artifact-store.ts";
import type { Clock } from "../../base/domain/clock.ts";
import { newUuid7 } from "../../base/domain/random.ts";
import type { Service } from "../../base/domain/lifecycle.ts";
import { allItems, type Page, type PageRequest } from "../../base/domain/page.ts";
import { fullDiskError } from "../../base/domain/transient-errors/full-disk.ts";
import { requirePlainFile } from "../../base/domain/transient-errors/plain-file.ts";
import { notFound, ServiceError } from "../../base/domain/service-error.ts";
import type { FileFilter, FileStore, UploadedFile } from "../../base/domain/uploads/uploaded-file.ts";
import type { UploadStore } from "../../base/domain/uploads/upload.ts";
import { repeatingService } from "../../base/domain/waiting/repeat-until.ts";
import { createPartUploads, type PartUploads } from "./part-uploads.ts";
import type { FileWriter, ReceivedFile } from "./file-writer.ts";
import type { FileSettings } from "./settings.ts";
import { writeContent } from "./write-content.ts";

export interface FileDependencies {
  readonly store: FileStore;
  readonly uploads: UploadStore;
  readonly clock: Clock;
  readonly artifacts: ArtifactStore;
  readonly settings: FileSettings;
  /** Called with the error of a failed sweep. The next sweep tries again. */
  readonly onFault: (error: unknown) => void;
}

/** Service for uploaded files. While started, it periodically deletes unused and expired files. */
export interface FileService extends Service, FileWriter {
  /** Uploads in parts, which become files. */
  readonly parts: PartUploads;
  /** Returns the whole content of an upload, so that it can be validated before it becomes a file. */
  look(received: ReceivedFile): Promise<Uint8Array<ArrayBuffer>>;
  /**
   * Finds a file by its id.
   *
   * @throws ServiceError `not_found`, also if the file belongs to an entity that the caller may not access
   */
  find(id: string, caller: Caller): Promise<UploadedFile>;
  list(purpose: string | null, page: PageRequest, caller: Caller): Promise<Page<UploadedFile>>;
  /**
   * Returns the file's content as a stream.
   *
   * @throws ServiceError `not_found` if its bytes are missing
   */
  read(file: UploadedFile): Promise<Readable>;
  /** Returns the file's whole content for a request that uses the file. Using a file delays its automatic deletion. */
  use(file: UploadedFile): Promise<Uint8Array<ArrayBuffer>>;
  delete(file: UploadedFile): Promise<void>;
  /** Deletes stored bytes that have no database row, expired files, and files unused for the configured time. */
  sweep(): Promise<void>;
}

const dayMs = 86_400_000;
/** Time in milliseconds within which every server writes the database row of an upload after storing its bytes. */
const comingMs = 3_600_000;
const folder = "files";

export function createFileService(dependencies: FileDependencies): FileService {
  const { store, artifacts, clock, settings, onFault } = dependencies;
  /** Ids of uploads that this server has received, but not yet recorded as files in the database. */
  const received = new Set<string>();
  const remove = async (id: string): Promise<void> => {
    await store.delete(id);
    await artifacts.remove(keyOf(id));
  };

  const removeAll = async (which: Pick<FileFilter, "unusedSince" | "expiresBefore">): Promise<void> => {
    const ids: string[] = [];
    const filter = { entity: null, purpose: null, ...which };
    for await (const { id } of allItems((page) => store.list(filter, page))) ids.push(id);
    for (const id of ids) await remove(id);
  };

  const createFile = (file: UploadedFile, entityBytesMax: number): Promise<void> =>
    store.create(file, entityBytesMax);
  const writing: FileWriter = {
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
    keep: async ({ id, byteCount }, { entity, name, purpose, lifeSeconds = null }, create = createFile) => {
      const now = clock.now();
      const expiresAt = lifeSeconds === null ? null : new Date(now.getTime() + lifeSeconds * 1000);
      const file = { id, entity, name, purpose, byteCount, createdAt: now, usedAt: now, expiresAt };
      await create(file, settings.entityBytes);
      received.delete(id);
      // The bytes may be missing, because a server whose clock is hours ahead considers a new upload abandoned.
      if (await artifacts.has(keyOf(id))) return file;
      await store.delete(id);
      throw gone();
    },
    discard: async ({ id }) => {
      received.delete(id);
      if ((await store.find(id)) === null) await artifacts.remove(keyOf(id));
    },
  };
  const parts = createPartUploads({
    store: dependencies.uploads,
    files: writing,
    clock,
    artifacts,
    settings,
  });

  const sweep = async (): Promise<void> => {
    await parts.sweep();
    await artifacts.sweep(folder, {
      // Keeps newer bytes, because another server may be about to write their row.
      olderThan: new Date(clock.now().getTime() - comingMs),
      isKnown: async (key) => {
        const id = key.slice(folder.length + 1);
        return received.has(id) || (await store.find(id)) !== null;
      },
    });
    await removeAll({ unusedSince: null, expiresBefore: clock.now() });
    if (settings.unusedDays === 0) return;
    const unusedSince = new Date(clock.now().getTime() - settings.unusedDays * dayMs);
    await removeAll({ unusedSince, expiresBefore: null });
  };

  return {
    ...repeatingService("uploaded files", { clock, pauseMs: settings.sweepSeconds * 1000, onFault }, sweep),
    ...writing,
    look: (file) => bytesOf(artifacts, file),
    find: async (id, caller) => {
      const file = await store.find(id);
      if (file === null || !mayReach(caller, { entity: file.entity, project: null }))
        throw notFound("file", id);
      return file;
    },
    list: (purpose, page, caller) => {
      const entity = reachOf(caller)?.entity ?? null;
      return store.list({ entity, purpose, unusedSince: null, expiresBefore: null }, page);
    },
    read: ({ id }) => artifacts.open(keyOf(id)),
    use: async (file) => {
      await store.use(file.id, clock.now());
      return bytesOf(artifacts, file);
    },
    delete: ({ id }) => remove(id),
    sweep,
    parts,
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

/**
 * Reads a whole file into a new buffer.
 *
 * @throws ServiceError `not_found`
 */
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

// Uploaded files: whose they are, how they come and go. The bytes are on disk before the database knows a file, and leave
// behind it: what lies in the folder and is not known is nobody's.
import { join } from "node:path";
import type { Readable } from "node:stream";
import { mayReach, type Caller } from "../domain/access.ts";
import type { Clock } from "../domain/clock.ts";
import { newUuid7 } from "../domain/ids.ts";
import { serviceOf, type Service } from "../domain/lifecycle.ts";
import { allItems, type Page, type PageRequest } from "../domain/page.ts";
import { notFound } from "../domain/service-error.ts";
import type { FileStore, UploadedFile } from "../domain/uploads/uploaded-file.ts";
import { FileFolder } from "./file-folder.ts";
import type { FileSettings } from "./settings.ts";

export interface FileDependencies {
  readonly store: FileStore;
  readonly clock: Clock;
  readonly dataFolder: string;
  readonly settings: FileSettings;
  /** Told what a sweep could not do; it tries again. */
  readonly onFault: (error: unknown) => void;
}

/** A file whose bytes are on disk, and that nobody can name yet. */
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
  /** Makes it a file of the entity, durably. @throws ServiceError `too_large` where the entity has no room left */
  keep(
    received: ReceivedFile,
    about: Pick<UploadedFile, "entity" | "name" | "purpose">,
  ): Promise<UploadedFile>;
  /** Removes what is not to be kept. */
  discard(received: ReceivedFile): Promise<void>;
  /** @throws ServiceError `not_found`, also for what is another entity's */
  find(id: string, caller: Caller): Promise<UploadedFile>;
  list(purpose: string | null, page: PageRequest, caller: Caller): Promise<Page<UploadedFile>>;
  read(file: UploadedFile): Readable;
  /** The whole file, for a request that names it. */
  use(file: UploadedFile): Promise<Uint8Array<ArrayBuffer>>;
  delete(file: UploadedFile): Promise<void>;
  /** Deletes what nobody knows, and what nobody has used for long. */
  sweep(): Promise<void>;
}

const dayMs = 86_400_000;

export function createFileService(dependencies: FileDependencies): FileService {
  const { store, clock, settings, onFault } = dependencies;
  const folder = new FileFolder(join(dependencies.dataFolder, "files"));
  /** What is on disk and not in the store yet. */
  const received = new Set<string>();
  const remove = async (id: string): Promise<void> => {
    await store.delete(id);
    await folder.remove(id);
  };

  const sweep = async (): Promise<void> => {
    for (const name of await folder.names()) {
      const isComing = [...received].some((id) => name.startsWith(id));
      if (!isComing && (await store.find(name)) === null) await folder.remove(name);
    }
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
        return { id, byteCount: await folder.write(id, content, settings.fileBytes) };
      } catch (error) {
        received.delete(id);
        throw error;
      }
    },
    look: ({ id }) => folder.bytes(id),
    keep: async ({ id, byteCount }, about) => {
      const now = clock.now();
      const file = { id, ...about, byteCount, createdAt: now, usedAt: now };
      await store.create(file, settings.entityBytes);
      received.delete(id);
      return file;
    },
    discard: async ({ id }) => {
      received.delete(id);
      if ((await store.find(id)) === null) await folder.remove(id);
    },
    find: async (id, caller) => {
      const file = await store.find(id);
      if (file === null || !mayReach(caller, file.entity)) throw notFound("file", id);
      return file;
    },
    list: (purpose, page, caller) => {
      const entity = caller.role === "admin" ? null : caller.entity;
      return store.list({ entity, purpose, unusedSince: null }, page);
    },
    read: ({ id }) => folder.read(id),
    use: async ({ id }) => {
      await store.use(id, clock.now());
      return folder.bytes(id);
    },
    delete: ({ id }) => remove(id),
    sweep,
  };
}

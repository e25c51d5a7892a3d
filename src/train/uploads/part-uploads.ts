// Uploads in parts: stores the bytes of each part, and joins the parts to a file. If a server dies meanwhile, a sweep
// removes the bytes that no pending upload needs.
import { createHash } from "node:crypto";
import type { ArtifactStore } from "../../store/artifacts/artifact-store.ts";
import { mayReach, type Caller } from "../../base/domain/access.ts";
import type { Clock } from "../../base/domain/clock.ts";
import { newUuid7 } from "../../base/domain/random.ts";
import { notFound, ServiceError } from "../../base/domain/service-error.ts";
import { fullDiskError } from "../../base/domain/transient-errors/full-disk.ts";
import type { Upload, UploadPart, UploadStore } from "../../base/domain/uploads/upload.ts";
import type { UploadedFile } from "../../base/domain/uploads/uploaded-file.ts";
import type { FileWriter, ReceivedFile } from "./file-writer.ts";
import { partSettings, type FileSettings } from "./settings.ts";
import { writeContent } from "./write-content.ts";

export interface PartUploads {
  /** Maximum size in bytes of the file that an upload becomes. */
  readonly bytesMax: number;
  /** @throws ServiceError `overloaded` if the entity has too many pending uploads */
  create(about: Pick<Upload, "entity" | "name" | "purpose" | "byteCount">): Promise<Upload>;
  /** @throws ServiceError `not_found`, also if the upload belongs to an entity that the caller may not access */
  find(id: string, caller: Caller): Promise<Upload>;
  /** Writes the bytes of a part as they arrive. The part does not belong to the upload before {@link keep}. */
  receive(upload: Upload, content: AsyncIterable<Uint8Array>): Promise<UploadPart>;
  discard(upload: Upload, part: UploadPart): Promise<void>;
  /** Adds a received part to its upload, durably; removes its bytes on failure. */
  keep(upload: Upload, part: UploadPart): Promise<UploadPart>;
  /**
   * Joins parts in the given order, and checks the size and hash of the result. {@link complete} must then make it a
   * file.
   *
   * @param md5 expected MD5 hash in hexadecimal; null to skip the comparison
   * @throws ServiceError `invalid` naming `partIds` or `md5`
   */
  join(upload: Upload, partIds: readonly string[], md5: string | null): Promise<ReceivedFile>;
  /** Records the joined parts in the database as a file of the entity, and ends the upload. */
  complete(upload: Upload, joined: ReceivedFile): Promise<UploadedFile>;
  cancel(upload: Upload): Promise<void>;
  /** Removes stored parts that no pending upload needs, and uploads that expired long ago. */
  sweep(): Promise<void>;
}

interface PartDependencies {
  readonly store: UploadStore;
  readonly files: FileWriter;
  readonly clock: Clock;
  readonly artifacts: ArtifactStore;
  readonly settings: Pick<FileSettings, "entityBytes" | "fileBytes">;
}

const folder = "uploads";
const keyOf = (upload: Pick<Upload, "id">): string => `${folder}/${upload.id}`;
const keyOfPart = (upload: Upload, { id }: UploadPart): string => `${keyOf(upload)}/${id}`;

export function createPartUploads(dependencies: PartDependencies): PartUploads {
  const { store, files, clock, artifacts, settings } = dependencies;
  const limits = {
    countMax: partSettings.countMax,
    bytesMax: settings.fileBytes,
    entityBytesMax: settings.entityBytes,
  };
  const lifeMs = partSettings.lifeSeconds * 1000;
  return {
    bytesMax: settings.fileBytes,
    create: async (about) => {
      const createdAt = clock.now();
      const upload: Upload = {
        id: `upload_${newUuid7(clock)}`,
        ...about,
        state: "pending",
        parts: [],
        createdAt,
        expiresAt: new Date(createdAt.getTime() + lifeMs),
      };
      await store.create(upload, partSettings.pendingMax);
      return upload;
    },
    find: async (id, caller) => {
      const upload = await store.find(id);
      if (upload === null || !mayReach(caller, { entity: upload.entity, project: null }))
        throw notFound("upload", id.slice(0, 200));
      return upload;
    },
    receive: async (upload, content) => {
      const part = { id: `part_${newUuid7(clock)}`, createdAt: clock.now() };
      const write = (file: string) => writeContent(file, content, partSettings.bytesMax);
      try {
        const byteCount = await artifacts.putFile(keyOfPart(upload, { ...part, byteCount: 0 }), write);
        return { ...part, byteCount };
      } catch (error) {
        throw fullDiskError(error) ?? error;
      }
    },
    discard: (upload, part) => artifacts.remove(keyOfPart(upload, part)),
    keep: async (upload, part) => {
      try {
        await store.addPart(upload.id, part, limits);
        return part;
      } catch (error) {
        await artifacts.remove(keyOfPart(upload, part));
        throw error;
      }
    },
    join: async (upload, partIds, md5) => {
      const parts = partsOf(upload, partIds);
      const hash = createHash("md5");
      const joined = await files.receive(contentOf(artifacts, upload, parts, hash));
      const found = hash.digest("hex");
      if (md5 === null || md5.toLowerCase() === found) return joined;
      await files.discard(joined);
      throw invalid("md5", `The parts have the MD5 hash ${found}, not ${md5}. Send the damaged part again.`);
    },
    complete: async (upload, joined) => {
      const file = await files.keep(joined, upload, (made, bytesMax) =>
        store.complete(upload.id, made, bytesMax),
      );
      await artifacts.remove(keyOf(upload));
      return file;
    },
    cancel: async (upload) => {
      await store.cancel(upload.id, clock.now());
      await artifacts.remove(keyOf(upload));
    },
    sweep: async () => {
      const nowMs = clock.now().getTime();
      await store.deleteExpired(new Date(nowMs - partSettings.shownSeconds * 1000));
      await artifacts.sweep(folder, {
        // Keeps newer parts, because their rows may not be written yet.
        olderThan: new Date(nowMs - lifeMs),
        isKnown: async (key) => {
          const upload = await store.find(key.slice(folder.length + 1));
          return upload !== null && upload.state === "pending" && upload.expiresAt.getTime() > nowMs;
        },
      });
    },
  };
}

/** Returns the parts with these ids, which together must have the size of the upload. */
function partsOf({ parts, byteCount }: Upload, ids: readonly string[]): readonly UploadPart[] {
  const chosen = ids.map((id) => {
    const part = parts.find((one) => one.id === id);
    if (part === undefined)
      throw invalid("partIds", `The upload has no part ${JSON.stringify(id.slice(0, 100))}.`);
    return part;
  });
  const sum = chosen.reduce((total, part) => total + part.byteCount, 0);
  if (sum === byteCount) return chosen;
  const message = `These parts have ${sum} bytes together; the upload was created with ${byteCount} bytes.`;
  throw invalid("partIds", message);
}

async function* contentOf(
  artifacts: ArtifactStore,
  upload: Upload,
  parts: readonly UploadPart[],
  hash: ReturnType<typeof createHash>,
): AsyncGenerator<Uint8Array> {
  for (const part of parts)
    for await (const chunk of await artifacts.open(keyOfPart(upload, part))) {
      hash.update(chunk);
      yield chunk;
    }
}

function invalid(field: string, message: string): ServiceError {
  return new ServiceError({ code: "invalid", faults: [{ location: [field], message, type: "value_error" }] });
}

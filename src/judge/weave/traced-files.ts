// Service for files of traces. It stores a file's bytes before its database row, and deletes the row before the bytes.
// It removes bytes without a row, unless they are so new that their row may still be written.
import { createHash } from "node:crypto";
import { open } from "node:fs/promises";
import type { Readable } from "node:stream";
import type { ArtifactStore } from "../../store/artifacts/artifact-store.ts";
import type { Caller } from "../../base/domain/access.ts";
import type { Clock } from "../../base/domain/clock.ts";
import { newUuid7 } from "../../base/domain/random.ts";
import type { Service } from "../../base/domain/lifecycle.ts";
import { fullDiskError } from "../../base/domain/transient-errors/full-disk.ts";
import { reachProject } from "../../base/domain/project.ts";
import { notFound, ServiceError } from "../../base/domain/service-error.ts";
import type { TracedFile, TracedFileStore } from "../../base/domain/traces/traced-file.ts";
import { repeatingService } from "../../base/domain/waiting/repeat-until.ts";
import { asDigest } from "./digests.ts";
import { requireExpectedDigest } from "./object-service.ts";
import type { TraceSettings } from "./settings.ts";

/** Bytes that are stored, but that have no row in the database yet. */
export interface ReceivedBytes {
  readonly fileId: string;
  readonly digest: string;
  readonly byteCount: number;
}

/** Files of traces. While started, this service periodically removes bytes without a database row. */
export interface TracedFiles extends Service {
  /**
   * Writes the chunks of a file as they arrive.
   *
   * @throws ServiceError `too_large`, `unavailable`; errors of reading `content`
   */
  receive(content: AsyncIterable<Uint8Array>): Promise<ReceivedBytes>;
  /**
   * Stores the received bytes durably as a file of the project. If the project already has a file with the same bytes,
   * keeps that file and discards the new bytes.
   *
   * @throws ServiceError `invalid`, `forbidden`; `conflict` if the digest differs from the client's; `too_large` if the
   * entity's quota is exhausted
   */
  keep(
    received: ReceivedBytes,
    about: { readonly projectId: string; readonly expectedDigest: string | null },
    caller: Caller,
  ): Promise<TracedFile>;
  /** Removes received bytes that will not become a file. */
  discard(received: ReceivedBytes): Promise<void>;
  /**
   * Returns the content of a project's file.
   *
   * @throws ServiceError `invalid`, `forbidden`, `not_found`
   */
  read(
    projectId: string,
    digest: string,
    caller: Caller,
  ): Promise<{ readonly byteCount: number; readonly content: Readable }>;
  /** Removes the bytes of files whose database rows were deleted. */
  forget(fileIds: readonly string[]): Promise<void>;
}

export interface TracedFileDependencies {
  readonly store: TracedFileStore;
  readonly artifacts: ArtifactStore;
  readonly clock: Clock;
  readonly settings: TraceSettings;
  /** Called with the error of a failed sweep. The next sweep tries again. */
  readonly onFault: (error: unknown) => void;
}

const folder = "traces";
/** Age in milliseconds from which bytes without a database row are removed. It exceeds the duration of any upload. */
const comingMs = 3_600_000;

const keyOf = (fileId: string): string => `${folder}/${fileId}`;

export function createTracedFiles(dependencies: TracedFileDependencies): TracedFiles {
  const { store, artifacts, clock, settings, onFault } = dependencies;
  const sweep = (): Promise<unknown> => {
    const olderThan = new Date(clock.now().getTime() - comingMs);
    const isKnown = (key: string): Promise<boolean> => store.isKnown(key.slice(folder.length + 1));
    return artifacts.sweep(folder, { olderThan, isKnown });
  };
  const discard = ({ fileId }: Pick<ReceivedBytes, "fileId">): Promise<void> =>
    artifacts.remove(keyOf(fileId));
  return {
    ...repeatingService("traced files", { clock, pauseMs: settings.sweepSeconds * 1000, onFault }, sweep),
    receive: async (content) => {
      const fileId = newUuid7(clock);
      try {
        const write = (file: string) => writeHashed(file, content, settings.fileBytes);
        return { fileId, ...(await artifacts.putFile(keyOf(fileId), write)) };
      } catch (error) {
        throw fullDiskError(error) ?? error;
      }
    },
    keep: async (received, { projectId, expectedDigest }, caller) => {
      const { entity } = reachProject(projectId, caller);
      requireExpectedDigest(received.digest, expectedDigest);
      const draft = { ...received, projectId, entity, createdAt: clock.now() };
      const file = await store.create(draft, settings.entityBytes);
      if (file.fileId !== received.fileId) await discard(received);
      return file;
    },
    discard,
    read: async (projectId, digest, caller) => {
      reachProject(projectId, caller);
      const file = await store.find(projectId, digest);
      if (file === null) throw notFound("file", digest);
      return { byteCount: file.byteCount, content: await artifacts.open(keyOf(file.fileId)) };
    },
    forget: async (fileIds) => {
      for (const fileId of fileIds) await discard({ fileId });
    },
  };
}

/**
 * Writes all chunks to a file, and returns their total size and hash.
 *
 * @throws ServiceError `too_large` if they exceed `bytesMax`
 */
async function writeHashed(
  file: string,
  content: AsyncIterable<Uint8Array>,
  bytesMax: number,
): Promise<{ readonly digest: string; readonly byteCount: number }> {
  const hash = createHash("sha256");
  const handle = await open(file, "w");
  try {
    let byteCount = 0;
    for await (const piece of content) {
      byteCount += piece.length;
      if (byteCount > bytesMax) throw tooLarge(bytesMax);
      hash.update(piece);
      await handle.appendFile(piece);
    }
    return { digest: asDigest(hash.digest()), byteCount };
  } finally {
    await handle.close();
  }
}

function tooLarge(bytesMax: number): ServiceError {
  const message = `The file has more than ${bytesMax} bytes, the most that a traced file may have.`;
  return new ServiceError({ code: "too_large", message });
}

// Fetches one file of a repository into a folder. Resumes a partial download, retries after interruptions, and checks
// the hub's checksum before the file gets its final name.
import { existsSync } from "node:fs";
import { rename, rm, stat } from "node:fs/promises";
import { basename, join } from "node:path";
import { fullDiskError } from "../../../../base/domain/transient-errors/full-disk.ts";
import { ServiceError } from "../../../../base/domain/service-error.ts";
import type { RepositoryFile } from "../choose-files.ts";
import type { Hub, Repository } from "./hub.ts";
import { Interruption } from "./interruption.ts";
import { PartialFile } from "./partial-file.ts";

/** Suffix for the name of a partial download. */
const partialEnd = ".partial";

/** Returns how many bytes of a file have already been fetched into a folder. */
export async function countFetchedBytes(folder: string, { path, bytes }: RepositoryFile): Promise<number> {
  const file = join(folder, basename(path));
  if (existsSync(file)) return bytes;
  const found = await stat(`${file}${partialEnd}`).catch(() => null);
  return found !== null && found.size <= bytes ? found.size : 0;
}

/** A file to be fetched. */
export interface FetchFileOptions {
  readonly repository: Repository;
  readonly file: RepositoryFile;
  /** Folder for the file. The file keeps the last part of its path in the repository as its name. */
  readonly folder: string;
  /** Called as data arrives, with the number of bytes received so far. */
  readonly onBytes: (bytes: number) => void;
}

/**
 * Fetches a file, unless the folder already has it.
 *
 * @throws ServiceError `unavailable` if the content does not match the hub's checksum; the content is then deleted.
 * Otherwise the errors of `Hub`
 */
export async function fetchFile(hub: Hub, fetching: FetchFileOptions): Promise<void> {
  const { repository, file, folder, onBytes } = fetching;
  const whole = join(folder, basename(file.path));
  if (existsSync(whole)) {
    onBytes(file.bytes);
    return;
  }
  const partial = await PartialFile.open(`${whole}${partialEnd}`, file);
  try {
    await fetchRest(hub, fetching, partial);
  } catch (error) {
    throw fullDiskError(error) ?? error;
  } finally {
    await partial.close();
  }
  if (!partial.matchesChecksum()) {
    await rm(partial.path);
    throw new ServiceError({
      code: "unavailable",
      message: `${file.path} of ${repository.name} does not match its checksum (${file.checksum.kind} ${file.checksum.digest}); the download was removed. Run the same command again; if that does not help, the mirror is at fault.`,
    });
  }
  await rename(partial.path, whole);
}

async function fetchRest(
  hub: Hub,
  { repository, file, onBytes }: FetchFileOptions,
  partial: PartialFile,
): Promise<void> {
  let failedCount = 0;
  onBytes(partial.length);
  while (partial.length < file.bytes) {
    const before = partial.length;
    try {
      const { isWhole, body } = await hub.open(repository, file, before);
      if (isWhole && before > 0) await partial.restart();
      for await (const part of body) {
        if (partial.length + part.length > file.bytes) throw tooLong(repository, file);
        await partial.append(part);
        onBytes(partial.length);
      }
      if (partial.length < file.bytes) throw new Interruption("the connection ended early");
    } catch (error) {
      if (partial.length > before) failedCount = 0;
      await hub.requests.pause(error, failedCount);
      failedCount += 1;
    }
  }
}

function tooLong({ name }: Repository, { path, bytes }: RepositoryFile): ServiceError {
  return new ServiceError({
    code: "unavailable",
    message: `${path} of ${name} comes with more than its ${bytes} bytes; the mirror is at fault.`,
  });
}

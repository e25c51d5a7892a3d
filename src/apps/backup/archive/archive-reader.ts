// Reads an archive: its manifest, the list of its files, and the bytes of each file. Verifies the hash of everything
// it reads.
import { createHash } from "node:crypto";
import { createInterface } from "node:readline";
import { Readable } from "node:stream";
import { ServiceError } from "../../../base/domain/service-error.ts";
import type { ArchivePlace } from "./archive-place.ts";
import { manifestName, requirePath, sumsName } from "./layout.ts";
import { readManifest, type Manifest } from "./manifest.ts";

export interface ArchivedFile {
  readonly path: string;
  readonly sha256: string;
}

export interface ArchiveReader {
  readonly place: ArchivePlace;
  readonly manifest: Manifest;
  /**
   * Yields the files that `SHA256SUMS` lists. The files of an artifact are adjacent.
   *
   * @throws ServiceError `invalid` for a path outside the archive
   */
  files(): AsyncIterable<ArchivedFile>;
  /**
   * Yields the bytes of a file, and verifies its hash at the end.
   *
   * @throws ServiceError `invalid` if the file is missing, or (after the last byte) if its hash differs
   */
  read(file: ArchivedFile): AsyncIterable<Uint8Array>;
}

/**
 * Maximum size of a manifest in bytes. Real manifests are much smaller, since they list at most some hundred tables and
 * faults.
 */
const manifestBytesMax = 1 << 26;

/**
 * Opens an archive: reads its manifest, and verifies the list of its files.
 *
 * @throws ServiceError `not_found` if there is no archive, `invalid` if it was changed, `unsupported` if a newer
 * program wrote it
 */
export async function openArchive(place: ArchivePlace): Promise<ArchiveReader> {
  const manifest = readManifest(await manifestOf(place), `${place.name}/${manifestName}`);
  const sums = readVerified(place, { path: sumsName, sha256: manifest.sumsSha256 });
  while ((await sums.next()).done !== true) continue;
  return {
    place,
    manifest,
    files: () => filesOf(place),
    read: (file) => readVerified(place, file),
  };
}

async function manifestOf(place: ArchivePlace): Promise<string> {
  const pieces: Uint8Array[] = [];
  let size = 0;
  try {
    for await (const piece of place.read(manifestName)) {
      pieces.push(piece);
      size += piece.length;
      if (size > manifestBytesMax)
        throw damaged(`${place.name}/${manifestName}`, `it has more than ${manifestBytesMax} bytes`);
    }
    return Buffer.concat(pieces).toString("utf8");
  } catch (cause) {
    if (!isNotThere(cause)) throw cause;
    const message = (await place.isEmpty())
      ? `There is no archive in ${place.name}: it does not exist or is empty. Name the place of a backup or an export.`
      : `${place.name} is not a Hone archive: it has no ${manifestName}, which is written last. An interrupted archive must be made again.`;
    throw new ServiceError({ code: "not_found", message, cause });
  }
}

async function* filesOf(place: ArchivePlace): AsyncGenerator<ArchivedFile, void> {
  const input = Readable.from(place.read(sumsName));
  for await (const line of createInterface({ input, crlfDelay: Infinity })) {
    const [, sha256, path] = /^([0-9a-f]{64}) {2}(.+)$/.exec(line) ?? [];
    if (sha256 === undefined || path === undefined)
      throw damaged(`${place.name}/${sumsName}`, `it has a line ${JSON.stringify(line.slice(0, 200))}`);
    requirePath(path);
    yield { path, sha256 };
  }
}

async function* readVerified(
  place: ArchivePlace,
  { path, sha256 }: ArchivedFile,
): AsyncGenerator<Uint8Array, void> {
  const hash = createHash("sha256");
  try {
    for await (const bytes of place.read(path)) {
      hash.update(bytes);
      yield bytes;
    }
  } catch (error) {
    throw isNotThere(error) ? damaged(`${place.name}/${path}`, "it is missing") : error;
  }
  const now = hash.digest("hex");
  if (now !== sha256)
    throw damaged(
      `${place.name}/${path}`,
      `it hashes to ${now.slice(0, 12)}, but hashed to ${sha256.slice(0, 12)} when it was written`,
    );
}

function isNotThere(error: unknown): boolean {
  return error instanceof ServiceError && error.code === "not_found";
}

/** Returns the error for a missing or malformed part of an archive. */
export function damaged(path: string, why: string, cause?: unknown): ServiceError {
  return new ServiceError({
    code: "invalid",
    message: `${path} is damaged: ${why}. Take another copy.`,
    cause,
  });
}

// Reads an archive: its manifest, which files it is to have, and the rows of its tables. What is read is compared with its hash.
import { createHash } from "node:crypto";
import { createReadStream } from "node:fs";
import { readFile, stat } from "node:fs/promises";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { isMissing } from "../../artifacts/folder-names.ts";
import { ServiceError } from "../../domain/service-error.ts";
import { manifestName, requirePath, sumsName } from "./layout.ts";
import { readManifest, type Manifest } from "./manifest.ts";

export interface ArchivedFile {
  readonly path: string;
  readonly sha256: string;
}

export interface ArchiveReader {
  readonly folder: string;
  readonly manifest: Manifest;
  /**
   * The files beside manifest and sums, those of an artifact together.
   *
   * @throws ServiceError `invalid` for paths that lead elsewhere
   */
  files(): AsyncIterable<ArchivedFile>;
  /**
   * The bytes of a file, compared with its hash at the end.
   *
   * @throws ServiceError `invalid` where it is not there, or another one: then behind the bytes
   */
  read(file: ArchivedFile): AsyncIterable<Uint8Array>;
}

/** A manifest names at most some hundred tables and faults. */
const manifestBytesMax = 1 << 26;

/**
 * Opens an archive, of which the manifest and the list of its files are read.
 *
 * @throws ServiceError `not_found` where there is none, `invalid` for one that was changed, `unsupported` for a newer one
 */
export async function openArchive(folder: string): Promise<ArchiveReader> {
  const manifest = readManifest(await manifestOf(folder), join(folder, manifestName));
  const sums = join(folder, sumsName);
  if ((await hashOfFile(sums)) !== manifest.sumsSha256) throw damaged(sums, "it is not as it was written");
  return {
    folder,
    manifest,
    files: () => filesOf(sums),
    read: (file) => readCompared(join(folder, file.path), file),
  };
}

async function manifestOf(folder: string): Promise<string> {
  const path = join(folder, manifestName);
  try {
    const { size } = await stat(path);
    if (size > manifestBytesMax) throw damaged(path, `it has ${size} bytes, of at most ${manifestBytesMax}`);
    return await readFile(path, "utf8");
  } catch (error) {
    if (!isMissing(error)) throw error;
    const why = "it has no manifest.json, which comes last. One that was ended has to be made anew";
    throw new ServiceError({
      code: "not_found",
      message: `${folder} is no archive of Hone: ${why}.`,
      cause: error,
    });
  }
}

async function hashOfFile(path: string): Promise<string> {
  const hash = createHash("sha256");
  try {
    for await (const piece of createReadStream(path)) hash.update(piece as Uint8Array);
  } catch (error) {
    throw isMissing(error) ? damaged(path, "it is not there") : error;
  }
  return hash.digest("hex");
}

async function* filesOf(sums: string): AsyncGenerator<ArchivedFile, void> {
  for await (const line of createInterface({ input: createReadStream(sums), crlfDelay: Infinity })) {
    const [, sha256, path] = /^([0-9a-f]{64}) {2}(.+)$/.exec(line) ?? [];
    if (sha256 === undefined || path === undefined)
      throw damaged(sums, `it has a line ${JSON.stringify(line.slice(0, 200))}`);
    requirePath(path);
    yield { path, sha256 };
  }
}

async function* readCompared(path: string, { sha256 }: ArchivedFile): AsyncGenerator<Uint8Array, void> {
  const hash = createHash("sha256");
  try {
    for await (const piece of createReadStream(path)) {
      const bytes = piece as Uint8Array;
      hash.update(bytes);
      yield bytes;
    }
  } catch (error) {
    throw isMissing(error) ? damaged(path, "it is not there") : error;
  }
  const now = hash.digest("hex");
  if (now !== sha256)
    throw damaged(
      path,
      `it hashes to ${now.slice(0, 12)}, and hashed to ${sha256.slice(0, 12)} when it was written`,
    );
}

/** What an archive lacks, or has in another form. */
export function damaged(path: string, why: string, cause?: unknown): ServiceError {
  return new ServiceError({
    code: "invalid",
    message: `${path} is damaged: ${why}. Take another copy.`,
    cause,
  });
}

// Hashes that identify a base model. Model versions refer to the hash of the weights; jobs refer to the hash of all
// files that affect results. Because hashing gigabytes takes a while, hashes are cached in the folder of converted
// weights until a file changes.
import { createHash } from "node:crypto";
import { mkdir, open, readFile, readdir, realpath, rename, stat, writeFile } from "node:fs/promises";
import { basename, join } from "node:path";
import { isDeepStrictEqual } from "node:util";
import type { BaseHashes } from "../../../base/domain/model.ts";
import { weightFilesOf } from "../../../lib/model-files/weight-files.ts";

/**
 * Matches the names of hashed files: configuration, tokenizer, template and weights. All other files are ignored,
 * including the JSON file with the location of a GGUF file.
 */
const hashedNames = /(?<!\.gguf)\.json$|\.(jinja|safetensors)$/;

/**
 * Name and size of a file, its inode, and the times of its last content change and last metadata change, in
 * milliseconds. Size and content time are insufficient: a file from an image or archive with fixed times can have the
 * same size and content time as the file that it replaces.
 */
type FileStamp = readonly [string, number, number, number, number];
/** Name of a file, and the hex SHA-256 of its content. */
type FileHash = readonly [string, string];

/**
 * Returns the hashes of the model in a folder.
 *
 * @param folder in the Hugging Face layout
 * @param cacheFolder folder of cached hashes; created if missing
 * @param options.isReadOnly if true, throws an error when the hashes are not cached
 */
export async function baseHashes(
  folder: string,
  cacheFolder: string,
  { isReadOnly = false } = {},
): Promise<BaseHashes> {
  const files = await fileHashes(folder, cacheFolder, isReadOnly);
  const names = weightFilesOf(folder).map((file) => basename(file));
  const weights = files.filter(([name]) => names.includes(name));
  // The hash of a single file is its plain SHA-256, which other programs can compute too.
  return { weights: weights.length === 1 ? weights[0][1] : hashOf(weights), files: hashOf(files) };
}

function hashOf(files: readonly FileHash[]): string {
  const hash = createHash("sha256");
  for (const [name, ofFile] of files) hash.update(`${JSON.stringify(name)} ${ofFile}\n`);
  return hash.digest("hex");
}

async function fileHashes(
  folder: string,
  cacheFolder: string,
  isReadOnly: boolean,
): Promise<readonly FileHash[]> {
  const files = await hashedFiles(folder);
  const stamps = await fileStamps(files);
  const key = createHash("sha256")
    .update(await realpath(folder))
    .digest("hex");
  const cacheFile = join(cacheFolder, `${key.slice(0, 16)}.base-hash.json`);
  const kept = await readCache(cacheFile);
  if (kept?.hashes !== undefined && isDeepStrictEqual(kept.stamps, stamps)) return kept.hashes;
  if (isReadOnly) throw new Error(`${cacheFile} is missing or out of date`);
  const hashes: FileHash[] = [];
  for (const [name, file] of files) hashes.push([name, await hashFile(file)]);
  await mkdir(cacheFolder, { recursive: true });
  // A concurrent process writes the same content, so it does not matter whose rename comes last.
  const partial = `${cacheFile}.${process.pid}.partial`;
  await writeFile(partial, JSON.stringify({ stamps, hashes }));
  await rename(partial, cacheFile);
  return hashes;
}

/**
 * Returns the name and path of each hashed file, sorted by name. A weights file may be outside `folder`, for example a
 * GGUF file whose location the folder contains.
 */
async function hashedFiles(folder: string): Promise<readonly (readonly [string, string])[]> {
  const names = (await readdir(folder)).filter((name) => hashedNames.test(name));
  const files = [...names.map((name) => join(folder, name)), ...weightFilesOf(folder)];
  return [...new Map(files.map((file) => [basename(file), file]))].sort(([one], [other]) =>
    one < other ? -1 : 1,
  );
}

async function fileStamps(files: readonly (readonly [string, string])[]): Promise<readonly FileStamp[]> {
  return Promise.all(
    files.map(async ([name, file]): Promise<FileStamp> => {
      const { size, ino, mtimeMs, ctimeMs } = await stat(file);
      return [name, size, ino, mtimeMs, ctimeMs];
    }),
  );
}

/** Content of the cache file. If another program wrote it, hashes may be missing; Hone then recreates the file. */
interface Kept {
  readonly stamps: unknown;
  readonly hashes?: readonly FileHash[];
}

async function readCache(file: string): Promise<Kept | null> {
  try {
    return JSON.parse(await readFile(file, "utf8")) as Kept;
  } catch {
    // The file is missing or damaged: the caller recreates it.
    return null;
  }
}

/** Returns the hex SHA-256 of a file of any size. */
export async function hashFile(file: string): Promise<string> {
  const hash = createHash("sha256");
  const opened = await open(file);
  try {
    // A stream would read each part into new memory, which takes a tenth longer.
    const part = Buffer.allocUnsafeSlow(2 ** 20);
    for (;;) {
      const { bytesRead } = await opened.read(part);
      if (bytesRead === 0) return hash.digest("hex");
      hash.update(part.subarray(0, bytesRead));
    }
  } finally {
    await opened.close();
  }
}

// What a base model is, as hashes of its files: its weights, which versions belong to, and all that decides what it
// computes, which a job goes by. Reading gigabytes takes a while, so the hashes are kept beside the converted weights until
// a file changes.
import { createHash } from "node:crypto";
import { createReadStream } from "node:fs";
import { mkdir, readFile, readdir, realpath, rename, stat, writeFile } from "node:fs/promises";
import { basename, join } from "node:path";
import { isDeepStrictEqual } from "node:util";
import type { BaseHashes } from "../../../base/domain/model.ts";
import { weightFilesOf } from "../../../lib/model-files/weight-files.ts";

/** Configuration, tokenizer, template and weights; what else lies there, and where a GGUF file does, decides nothing. */
const hashedNames = /(?<!\.gguf)\.json$|\.(jinja|safetensors)$/;

/**
 * Name, bytes, inode, and when the content and anything of it last changed, in milliseconds. Files that images and archives
 * of fixed times put there have the same size and time of content as those they replace.
 */
type FileStamp = readonly [string, number, number, number, number];
/** Name, and hex SHA-256 of the content. */
type FileHash = readonly [string, string];

/**
 * The hashes of the model in a folder.
 *
 * @param folder in the Hugging Face layout
 * @param cacheFolder where the hashes of its files are kept; made when it is missing
 * @param options.isReadOnly refuses where they are not kept yet
 */
export async function baseHashes(
  folder: string,
  cacheFolder: string,
  { isReadOnly = false } = {},
): Promise<BaseHashes> {
  const files = await fileHashes(folder, cacheFolder, isReadOnly);
  const names = weightFilesOf(folder).map((file) => basename(file));
  const weights = files.filter(([name]) => names.includes(name));
  // The hash of a single file is its SHA-256, as other programs compute it.
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
  // Whoever hashes at the same time writes the same: the last rename wins.
  const partial = `${cacheFile}.${process.pid}.partial`;
  await writeFile(partial, JSON.stringify({ stamps, hashes }));
  await rename(partial, cacheFile);
  return hashes;
}

/** The name and the place of each, by name; weights may lie outside the folder. */
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

/** The content of the cache file; one that another program wrote may lack the hashes, and is made anew. */
interface Kept {
  readonly stamps: unknown;
  readonly hashes?: readonly FileHash[];
}

async function readCache(file: string): Promise<Kept | null> {
  try {
    return JSON.parse(await readFile(file, "utf8")) as Kept;
  } catch {
    // Missing or damaged: it is made anew.
    return null;
  }
}

/** Hex SHA-256 of a file, however large. */
export async function hashFile(file: string): Promise<string> {
  const hash = createHash("sha256");
  for await (const chunk of createReadStream(file, { highWaterMark: 1 << 20 }))
    hash.update(chunk as Uint8Array); // A stream without an encoding gives bytes.
  return hash.digest("hex");
}

// What a base model is, as one hash over its files, so that a job never goes on with another one under the same name.
// Reading gigabytes takes a while, so the hash is kept beside the converted weights until size or time of a file changes.
import { createHash } from "node:crypto";
import { createReadStream } from "node:fs";
import { mkdir, readFile, readdir, realpath, rename, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { isDeepStrictEqual } from "node:util";

/** Configuration, tokenizer, template and weights; what else lies there decides nothing. */
const hashedNames = /\.(json|jinja|safetensors)$/;

/** Name, bytes, and time of the last change in milliseconds. */
type FileStamp = readonly [string, number, number];

/**
 * The hex SHA-256 over the names and contents of the files that make the model.
 *
 * @param folder in the Hugging Face layout
 * @param cacheFolder where the hash is kept; made when it is missing
 */
export async function baseHash(folder: string, cacheFolder: string): Promise<string> {
  const stamps = await fileStamps(folder);
  const key = createHash("sha256")
    .update(await realpath(folder))
    .digest("hex");
  const cacheFile = join(cacheFolder, `${key.slice(0, 16)}.base-hash.json`);
  const known = await readCache(cacheFile);
  if (known !== null && isDeepStrictEqual(known.stamps, stamps)) return known.hash;
  const hash = await hashFiles(
    folder,
    stamps.map(([name]) => name),
  );
  await mkdir(cacheFolder, { recursive: true });
  // Whoever hashes at the same time writes the same: the last rename wins.
  const partial = `${cacheFile}.${process.pid}.partial`;
  await writeFile(partial, JSON.stringify({ stamps, hash }));
  await rename(partial, cacheFile);
  return hash;
}

async function fileStamps(folder: string): Promise<FileStamp[]> {
  const names = (await readdir(folder)).filter((name) => hashedNames.test(name)).sort();
  return Promise.all(
    names.map(async (name): Promise<FileStamp> => {
      const { size, mtimeMs } = await stat(join(folder, name));
      return [name, size, mtimeMs];
    }),
  );
}

async function readCache(file: string): Promise<{ readonly stamps: unknown; readonly hash: string } | null> {
  try {
    // What `baseHash` wrote.
    return JSON.parse(await readFile(file, "utf8")) as { readonly stamps: unknown; readonly hash: string };
  } catch {
    // Missing or damaged: it is made anew.
    return null;
  }
}

async function hashFiles(folder: string, names: readonly string[]): Promise<string> {
  const hash = createHash("sha256");
  for (const name of names) {
    const ofFile = createHash("sha256");
    for await (const chunk of createReadStream(join(folder, name), { highWaterMark: 1 << 20 }))
      ofFile.update(chunk as Uint8Array); // A stream without an encoding gives bytes.
    hash.update(`${JSON.stringify(name)} ${ofFile.digest("hex")}\n`);
  }
  return hash.digest("hex");
}

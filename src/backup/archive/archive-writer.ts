// Writes an archive into a folder: its files, each with its hash, and the manifest when all else is on the disk.
import { createHash, type Hash } from "node:crypto";
import { mkdir, open, readdir, rename, rm, writeFile, type FileHandle } from "node:fs/promises";
import { dirname, join } from "node:path";
import { flush, makeFolder } from "../../artifacts/flush.ts";
import { ServiceError } from "../../domain/service-error.ts";
import { archiveFolders, manifestName, requirePath, sumsName, unfinishedName } from "./layout.ts";
import { type Manifest, manifestText, type ManifestContent, readManifest } from "./manifest.ts";

/** What a manifest has beside what the writer knows itself. */
export type ArchiveContent = Omit<ManifestContent, "files" | "bytes" | "sumsSha256">;

export class ArchiveWriter {
  readonly #folder: string;
  readonly #sums: FileHandle;
  readonly #sumsHash: Hash = createHash("sha256");
  #files = 0;
  #bytes = 0;

  private constructor(folder: string, sums: FileHandle) {
    this.#folder = folder;
    this.#sums = sums;
  }

  /**
   * Begins one in a folder that is empty, or not there, or holds one that was ended, which goes.
   *
   * @throws ServiceError `conflict` where something else is in it
   */
  static async begin(folder: string): Promise<ArchiveWriter> {
    await makeFolder(folder);
    const names = await readdir(folder);
    if (names.includes(unfinishedName)) await removeAll(folder);
    else if (names.length > 0) throw inUse(folder, names.includes(manifestName));
    await writeFile(join(folder, unfinishedName), "");
    await flush(folder);
    return new ArchiveWriter(folder, await open(join(folder, sumsName), "wx"));
  }

  /** Writes a file of these bytes; returns its hex SHA-256. */
  async add(path: string, pieces: AsyncIterable<Uint8Array>): Promise<string> {
    requirePath(path);
    const target = join(this.#folder, path);
    await mkdir(dirname(target), { recursive: true });
    const file = await open(target, "wx");
    const hash = createHash("sha256");
    try {
      for await (const piece of pieces) {
        hash.update(piece);
        this.#bytes += piece.length;
        await file.writeFile(piece);
      }
      await file.sync();
    } finally {
      await file.close();
    }
    const sha256 = hash.digest("hex");
    // As sha256sum writes and reads it.
    const line = `${sha256}  ${path}\n`;
    this.#sumsHash.update(line);
    this.#files += 1;
    await this.#sums.writeFile(line);
    return sha256;
  }

  /** From now on the folder is an archive. */
  async finish(content: ArchiveContent): Promise<Manifest> {
    await this.#sums.sync();
    await this.#sums.close();
    await flushFolders(this.#folder);
    const text = manifestText({
      ...content,
      files: this.#files,
      bytes: this.#bytes,
      sumsSha256: this.#sumsHash.digest("hex"),
    });
    const target = join(this.#folder, manifestName);
    await writeFile(`${target}.partial`, text, { flush: true });
    await rename(`${target}.partial`, target);
    await rm(join(this.#folder, unfinishedName));
    await flush(this.#folder);
    return readManifest(text, target);
  }

  /** Removes what was written, so that it takes no room. */
  async abandon(): Promise<void> {
    await this.#sums.close().catch(() => undefined);
    await removeAll(this.#folder);
  }
}

/** What a writer writes; what says so last, so that one who dies at it goes on. */
async function removeAll(folder: string): Promise<void> {
  for (const name of [...archiveFolders, sumsName, manifestName, `${manifestName}.partial`, unfinishedName])
    await rm(join(folder, name), { recursive: true, force: true });
}

/** Which files there are in a folder, and in those below it. */
async function flushFolders(folder: string): Promise<void> {
  for (const entry of await readdir(folder, { withFileTypes: true }))
    if (entry.isDirectory()) await flushFolders(join(folder, entry.name));
  await flush(folder);
}

function inUse(folder: string, isArchive: boolean): ServiceError {
  const what = isArchive ? "holds an archive already" : "is not empty";
  const message = `The folder ${folder} ${what}. Name one that is empty or not there; nothing was changed.`;
  return new ServiceError({ code: "conflict", message });
}

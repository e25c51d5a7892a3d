// Writes an archive: first its files and the list of their hashes. The manifest is written only after these have been
// flushed.
import { createHash, type Hash } from "node:crypto";
import { ServiceError } from "../../../base/domain/service-error.ts";
import type { ArchiveFile, ArchivePlace } from "./archive-place.ts";
import { archiveFolders, manifestName, requirePath, sumsName, unfinishedName } from "./layout.ts";
import { type Manifest, manifestText, type ManifestContent, readManifest } from "./manifest.ts";

/** Fields of a manifest that the caller provides; the writer computes the others. */
export type ArchiveContent = Omit<ManifestContent, "files" | "bytes" | "sumsSha256">;

export class ArchiveWriter {
  readonly #place: ArchivePlace;
  readonly #sums: ArchiveFile;
  readonly #sumsHash: Hash = createHash("sha256");
  #files = 0;
  #bytes = 0;

  private constructor(place: ArchivePlace, sums: ArchiveFile) {
    this.#place = place;
    this.#sums = sums;
  }

  /**
   * Starts an archive. Removes an unfinished archive that an earlier attempt left in the same place.
   *
   * @throws ServiceError `conflict` if the place contains anything else
   */
  static async begin(place: ArchivePlace): Promise<ArchiveWriter> {
    await place.make();
    if (await place.has(unfinishedName)) await removeAll(place);
    else if (!(await place.isEmpty())) throw inUse(place, await place.has(manifestName));
    await place.write(unfinishedName, "");
    await place.flush();
    return new ArchiveWriter(place, await place.create(sumsName));
  }

  /** Writes a file and returns its hex SHA-256. */
  async add(path: string, pieces: AsyncIterable<Uint8Array>): Promise<string> {
    requirePath(path);
    const file = await this.#place.create(path);
    const hash = createHash("sha256");
    try {
      for await (const piece of pieces) {
        hash.update(piece);
        this.#bytes += piece.length;
        await file.write(piece);
      }
    } catch (error) {
      await file.abandon().catch(() => undefined);
      throw error;
    }
    await file.close();
    const sha256 = hash.digest("hex");
    // Line in the format of the program sha256sum.
    const line = `${sha256}  ${path}\n`;
    this.#sumsHash.update(line);
    this.#files += 1;
    await this.#sums.write(Buffer.from(line));
    return sha256;
  }

  /** Writes the manifest, which makes the archive valid, and removes the marker of an unfinished archive. */
  async finish(content: ArchiveContent): Promise<Manifest> {
    await this.#sums.close();
    await this.#place.flush();
    const text = manifestText({
      ...content,
      files: this.#files,
      bytes: this.#bytes,
      sumsSha256: this.#sumsHash.digest("hex"),
    });
    await this.#place.write(manifestName, text);
    await this.#place.remove(unfinishedName);
    await this.#place.flush();
    return readManifest(text, `${this.#place.name}/${manifestName}`);
  }

  /** Removes all files that were written. */
  async abandon(): Promise<void> {
    await this.#sums.abandon().catch(() => undefined);
    await removeAll(this.#place);
  }
}

/**
 * Removes all files of an archive. Removes the marker of an unfinished archive last, so that the next attempt can
 * continue an interrupted removal.
 */
async function removeAll(place: ArchivePlace): Promise<void> {
  for (const name of [...archiveFolders, sumsName, manifestName, `${manifestName}.partial`, unfinishedName])
    await place.remove(name);
}

function inUse({ name }: ArchivePlace, isArchive: boolean): ServiceError {
  const what = isArchive ? "already holds an archive" : "is not empty";
  const message = `${name} ${what}. Name an empty or new place; nothing was changed.`;
  return new ServiceError({ code: "conflict", message });
}

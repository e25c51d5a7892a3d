// Unpacks the plain files of a tar stream into a folder, within limits, and skips all other entries. Uses only the last
// part of an entry's path, so that no file is written outside the folder.
import { open } from "node:fs/promises";
import { basename, join } from "node:path";
import { cut, invalid } from "../../base/domain/service-error.ts";
import { ArchiveBytes } from "./archive-bytes.ts";
import { malformed } from "./malformed.ts";
import { tarEntries, type EntryLimits, type TarEntry } from "./tar-entries.ts";

export interface UnpackLimits extends EntryLimits {
  /** Maximum bytes of one unpacked file; if absent, only the limit on all entries applies. */
  readonly fileBytesMax?: (name: string) => number;
  /** Returns true if a file of this name should be unpacked; if absent, all files are unpacked. */
  readonly takes?: (name: string) => boolean;
}

export interface UnpackedFiles {
  readonly taken: readonly string[];
  /** Names of skipped files; long names are shortened. */
  readonly left: readonly string[];
}

/**
 * Unpacks an archive, which may be gzipped.
 *
 * @param folder must exist; a file that already exists is an error
 * @throws ServiceError as `tarEntries`; `invalid` for a file that exceeds its limit, or occurs twice; errors of
 * reading the archive
 */
export async function unpackInto(
  folder: string,
  archive: AsyncIterable<Uint8Array>,
  limits: UnpackLimits,
): Promise<UnpackedFiles> {
  const { takes = () => true, fileBytesMax = () => Infinity } = limits;
  const taken: string[] = [];
  const left: string[] = [];
  const bytes = new ArchiveBytes(archive);
  try {
    for await (const entry of tarEntries(bytes, limits)) {
      if (!entry.isFile) continue;
      const name = basename(entry.path);
      if (!takes(name)) {
        left.push(cut(name));
        continue;
      }
      if (taken.includes(name)) throw invalid(`The archive holds ${cut(name)} twice.`);
      refuseSize(entry, name, fileBytesMax(name));
      taken.push(name);
      await write(entry, folder, name);
    }
  } finally {
    await bytes.close();
  }
  return { taken, left };
}

function refuseSize({ byteCount }: TarEntry, name: string, bytesMax: number): void {
  if (byteCount > bytesMax)
    throw invalid(`${cut(name)} has ${byteCount} bytes; at most ${bytesMax} are read of it.`);
}

async function write({ content }: TarEntry, folder: string, name: string): Promise<void> {
  // These names would mean the folder itself or its parent.
  if (["", ".", ".."].includes(name)) throw malformed(`a file is called ${JSON.stringify(name)}`);
  const file = await open(join(folder, name), "wx");
  try {
    for await (const piece of content()) await file.writeFile(piece);
  } finally {
    await file.close();
  }
}

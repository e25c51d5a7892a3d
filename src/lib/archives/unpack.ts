// Takes the files out of a tar archive as it comes, into a folder, within limits. What is no plain file is not taken, and
// no name leads out of the folder: of each the last part counts.
import { open } from "node:fs/promises";
import { basename, join } from "node:path";
import { cut, invalid } from "../../base/domain/service-error.ts";
import { ArchiveBytes } from "./archive-bytes.ts";
import { malformed } from "./malformed.ts";
import { tarEntries, type EntryLimits, type TarEntry } from "./tar-entries.ts";

export interface UnpackLimits extends EntryLimits {
  /** Most bytes of one file that is taken; as many as of all unless given. */
  readonly fileBytesMax?: (name: string) => number;
  /** Whether a file of this name is taken; all are unless given. */
  readonly takes?: (name: string) => boolean;
}

export interface UnpackedFiles {
  readonly taken: readonly string[];
  /** Files that were not taken; long names are cut. */
  readonly left: readonly string[];
}

/**
 * Unpacks an archive, which may be gzipped.
 *
 * @param folder exists; a file that is there already is a fault
 * @throws ServiceError as `tarEntries`; `invalid` for a file that is larger than it may be, or comes twice; what reading the
 *   archive throws
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
  // These would be the folder itself and the one above it.
  if (["", ".", ".."].includes(name)) throw malformed(`a file is called ${JSON.stringify(name)}`);
  const file = await open(join(folder, name), "wx");
  try {
    for await (const piece of content()) await file.writeFile(piece);
  } finally {
    await file.close();
  }
}

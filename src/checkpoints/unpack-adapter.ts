// Takes the files of a PEFT folder out of an archive that was sent. Archives are read without a pause, and what they hold
// may be a thousand times as long as they are: this runs in a worker.
import { createReadStream } from "node:fs";
import { unpackInto } from "../archives/unpack.ts";
import { fullDiskError } from "../domain/full-disk.ts";
import { adapterFiles } from "../model/hashes/adapter-hash.ts";
import { configBytesMax } from "./check-adapter.ts";

export interface UnpackRequest {
  /** Exists, and gets the files. */
  readonly folder: string;
  readonly archive: string;
  /** Of all that is in the archive. */
  readonly bytesMax: number;
}

export interface UnpackedFiles {
  readonly taken: readonly string[];
  /** What nothing reads. */
  readonly left: readonly string[];
}

/** Whatever wrote the folder of an adapter put a few files beside it. */
const entriesMax = 1000;

/** @throws ServiceError as `unpackInto`; `unavailable` for a full disk, whose code does not leave a worker */
export async function unpackAdapter({ folder, archive, bytesMax }: UnpackRequest): Promise<UnpackedFiles> {
  const wanted: readonly string[] = Object.values(adapterFiles);
  try {
    const { taken, left } = await unpackInto(folder, createReadStream(archive), {
      bytesMax,
      entriesMax,
      takes: (name) => wanted.includes(name),
      fileBytesMax: (name) => (name === adapterFiles.config ? configBytesMax : bytesMax),
    });
    return { taken, left };
  } catch (error) {
    throw fullDiskError(error) ?? error;
  }
}

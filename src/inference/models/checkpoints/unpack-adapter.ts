// Unpacks the files of a PEFT folder from a received archive. The content may be a thousand times as large as the
// archive, so this runs in a worker that is terminated after a timeout.
import { createReadStream } from "node:fs";
import { unpackInto, type UnpackedFiles } from "../../../lib/archives/unpack.ts";
import { adapterFiles } from "../../architectures/hashes/adapter-hash.ts";
import { configBytesMax } from "./check-adapter.ts";

export interface UnpackRequest {
  /** Existing folder into which the files are unpacked. */
  readonly folder: string;
  readonly archive: string;
  /** Maximum total size of the unpacked content in bytes. */
  readonly bytesMax: number;
}

/**
 * Maximum number of entries in the archive. The limit is generous, because programs that write adapters add only a few
 * files.
 */
const entriesMax = 1000;

/**
 * Unpacks an archive.
 *
 * @throws ServiceError as `unpackInto`; the system's error if it cannot write
 */
export async function unpackAdapter({ folder, archive, bytesMax }: UnpackRequest): Promise<UnpackedFiles> {
  const wanted: readonly string[] = Object.values(adapterFiles);
  return unpackInto(folder, createReadStream(archive), {
    bytesMax,
    entriesMax,
    takes: (name) => wanted.includes(name),
    fileBytesMax: (name) => (name === adapterFiles.config ? configBytesMax : bytesMax),
  });
}

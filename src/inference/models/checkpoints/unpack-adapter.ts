// Takes the files of a PEFT folder out of an archive that was sent. What an archive holds may be a thousand times as long as
// it is: this runs in a worker, which is ended when it takes too long.
import { createReadStream } from "node:fs";
import { unpackInto, type UnpackedFiles } from "../../../lib/archives/unpack.ts";
import { adapterFiles } from "../../architectures/hashes/adapter-hash.ts";
import { configBytesMax } from "./check-adapter.ts";

export interface UnpackRequest {
  /** Exists, and gets the files. */
  readonly folder: string;
  readonly archive: string;
  /** Of all that is in the archive. */
  readonly bytesMax: number;
}

/** Whatever wrote the folder of an adapter put a few files beside it. */
const entriesMax = 1000;

/** @throws ServiceError as `unpackInto`; what the system says where it cannot write */
export async function unpackAdapter({ folder, archive, bytesMax }: UnpackRequest): Promise<UnpackedFiles> {
  const wanted: readonly string[] = Object.values(adapterFiles);
  return unpackInto(folder, createReadStream(archive), {
    bytesMax,
    entriesMax,
    takes: (name) => wanted.includes(name),
    fileBytesMax: (name) => (name === adapterFiles.config ? configBytesMax : bytesMax),
  });
}

// Imports an uploaded adapter as a version. The archive is saved, unpacked in a temporary folder, checked completely
// and moved into place; only then is the version stored in the database. A failure at any point leaves the model
// unchanged, and a server's next start after a crash removes leftover files.
import { copyFile, open, rename, rm } from "node:fs/promises";
import { join } from "node:path";
import type { ArtifactStore } from "../../../store/artifacts/artifact-store.ts";
import type { ServerFolder } from "../../../store/artifacts/server-folder.ts";
import type { UnpackedFiles } from "../../../lib/archives/unpack.ts";
import { fullDiskError } from "../../../base/domain/transient-errors/full-disk.ts";
import { newUuid } from "../../../base/domain/random.ts";
import {
  adapterFolderOf,
  type ModelStore,
  type ModelVersion,
  type TrainedModel,
} from "../../../base/domain/model.ts";
import { adapterFiles } from "../../architectures/hashes/adapter-hash.ts";
import { ServiceError } from "../../../base/domain/service-error.ts";
import type { UnpackRequest } from "./unpack-adapter.ts";

export interface ImportDependencies {
  readonly store: Pick<ModelStore, "addVersion">;
  readonly artifacts: Pick<ArtifactStore, "put">;
  readonly folder: Pick<ServerFolder, "withScratch">;
  /** Unpacks the files of the archive into the folder. */
  readonly unpack: (request: UnpackRequest) => Promise<UnpackedFiles>;
  /** Checks a PEFT folder and returns its hash; throws an error for an invalid adapter. */
  readonly check: (folder: string) => Promise<{ readonly hash: string }>;
  /** Hex SHA-256 of the base weights over which the imported adapter will be served. */
  readonly base: string;
  /** Maximum size in bytes of the archive, and also of its unpacked content. */
  readonly bytesMax: number;
}

export interface ImportedVersion {
  readonly version: ModelVersion;
  /** Names of files in the archive that were not imported, because they are not part of an adapter. */
  readonly ignored: readonly string[];
}

/**
 * Imports the PEFT folder of an archive as the next version of a model.
 *
 * @throws ServiceError `too_large`; as `unpack`, `check` and `addVersion`; `unavailable` when the disk is full
 */
export async function importAdapter(
  { store, artifacts, folder, unpack, check, base, bytesMax }: ImportDependencies,
  { id: modelId }: Pick<TrainedModel, "id">,
  { archive, createdAt }: { readonly archive: AsyncIterable<Uint8Array>; readonly createdAt: Date },
): Promise<ImportedVersion> {
  const importIn = async (scratch: string): Promise<ImportedVersion> => {
    const sent = join(scratch, "sent.tar");
    await keep(archive, sent, bytesMax);
    const { left: ignored } = await unpack({ folder: scratch, archive: sent, bytesMax });
    await rm(sent);
    const { hash: adapterHash } = await check(scratch);
    const draft = { id: newUuid(), modelId, metrics: {}, base, adapterHash, createdAt };
    const place = async (step: number, mayPut: () => Promise<void>): Promise<string> => {
      const adapterFolder = adapterFolderOf(modelId, step);
      const write = async (target: string): Promise<void> => {
        for (const name of Object.values(adapterFiles)) await move(join(scratch, name), join(target, name));
      };
      await artifacts.put(adapterFolder, write, { mayPut });
      return adapterFolder;
    };
    return { version: await store.addVersion(draft, place), ignored };
  };
  try {
    return await folder.withScratch(importIn);
  } catch (error) {
    throw fullDiskError(error) ?? error;
  }
}

/** Allowance in bytes for an archive's headers and padding, added to the maximum size. */
const archiveBytesMore = 1 << 20;

/** Writes the received bytes to a file, up to the maximum size. */
async function keep(sent: AsyncIterable<Uint8Array>, file: string, bytesMax: number): Promise<void> {
  const handle = await open(file, "wx");
  let byteCount = 0;
  try {
    for await (const piece of sent) {
      byteCount += piece.length;
      if (byteCount > bytesMax + archiveBytesMore) throw tooLarge(bytesMax);
      await handle.writeFile(piece);
    }
  } finally {
    await handle.close();
  }
}

function tooLarge(bytesMax: number): ServiceError {
  return new ServiceError({
    code: "too_large",
    message: `The archive has more than ${bytesMax} bytes, the maximum. Train an adapter of a lower rank, or send it in fewer bits.`,
  });
}

/** Moves a file. Copies it if necessary, because artifacts may be on another disk and a rename cannot cross disks. */
async function move(from: string, to: string): Promise<void> {
  await rename(from, to).catch((error: unknown) => {
    const isElsewhere = error instanceof Error && "code" in error && error.code === "EXDEV";
    if (!isElsewhere) throw error;
    return copyFile(from, to);
  });
}

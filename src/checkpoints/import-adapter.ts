// An adapter that somebody sends becomes a version: kept as it comes, unpacked aside, checked whole, put in its place and
// only then stored. What fails at any point leaves the model as it was; what a server that dies leaves is swept at the next
// start.
import { mkdir, open, rename, rm } from "node:fs/promises";
import { join } from "node:path";
import type { UnpackedFiles } from "../archives/unpack.ts";
import { fullDiskError } from "../domain/obstacles/full-disk.ts";
import { newUuid } from "../domain/ids.ts";
import {
  adapterFolderOf,
  type ModelStore,
  type ModelVersion,
  type TrainedModel,
  type VersionDraft,
} from "../domain/model.ts";
import { adapterFiles } from "../model/hashes/adapter-hash.ts";
import { ServiceError } from "../domain/service-error.ts";
import type { UnpackRequest } from "./unpack-adapter.ts";
import { flush, writeWholeFolder } from "./whole-folder.ts";

export interface ImportDependencies {
  readonly store: Pick<ModelStore, "addVersion">;
  readonly dataFolder: string;
  /** Takes the files out of the archive, into the folder. */
  readonly unpack: (request: UnpackRequest) => Promise<UnpackedFiles>;
  /** Throws what is wrong with the PEFT folder; tells its hash otherwise. */
  readonly check: (folder: string) => Promise<{ readonly hash: string }>;
  /** Hex SHA-256 of the weights that the adapter is imported over. */
  readonly base: string;
  /** Most bytes of the archive, and of all that is in it. */
  readonly bytesMax: number;
}

export interface ImportedVersion {
  readonly version: ModelVersion;
  /** Files of the archive that nothing reads. */
  readonly ignored: readonly string[];
}

/** In the data folder, what is being imported. */
export const importsFolder = "imports";

/**
 * Imports the PEFT folder of an archive as the next version of a model.
 *
 * @throws ServiceError `too_large`; as `unpack`, `check` and `addVersion`; `unavailable` when the disk is full
 */
export async function importAdapter(
  { store, dataFolder, unpack, check, base, bytesMax }: ImportDependencies,
  { id: modelId }: Pick<TrainedModel, "id">,
  { archive, createdAt }: { readonly archive: AsyncIterable<Uint8Array>; readonly createdAt: Date },
): Promise<ImportedVersion> {
  const id = newUuid();
  const folder = join(dataFolder, importsFolder, id);
  try {
    await mkdir(folder, { recursive: true });
    const sent = join(folder, "sent.tar");
    await keep(archive, sent, bytesMax);
    const { taken, left } = await unpack({ folder, archive: sent, bytesMax });
    await rm(sent);
    const { hash: adapterHash } = await check(folder);
    for (const name of taken) await flush(join(folder, name));
    const draft = { id, modelId, metrics: {}, base, adapterHash, createdAt };
    return { version: await store.addVersion(draft, placing({ folder, dataFolder, draft })), ignored: left };
  } catch (error) {
    throw fullDiskError(error) ?? error;
  } finally {
    // What is broken off may be written to for a moment more.
    await rm(folder, { recursive: true, force: true, maxRetries: 10, retryDelay: 50 });
  }
}

/** Headers and padding of an archive, beside what is in it. */
const archiveBytesMore = 1 << 20;

/** Writes what is sent to a file. */
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
    message: `The archive has more than ${bytesMax} bytes, the most that are taken. Train an adapter of a lower rank, or send it in fewer bits.`,
  });
}

/** Moves the files to where the version's adapter stays. A folder that is there is what a lost attempt left. */
function placing(options: {
  readonly folder: string;
  readonly dataFolder: string;
  readonly draft: VersionDraft;
}): (step: number) => Promise<string> {
  const { folder, dataFolder, draft } = options;
  return async (step) => {
    const adapterFolder = adapterFolderOf(draft.modelId, step);
    const target = join(dataFolder, adapterFolder);
    const unfinished = join(target, "..", `.${step}.tmp-${draft.id}`);
    await writeWholeFolder({ folder: target, unfinished }, async () => {
      for (const name of Object.values(adapterFiles))
        await rename(join(folder, name), join(unfinished, name));
    });
    return adapterFolder;
  };
}

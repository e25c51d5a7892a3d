// A version's folder copied to be the first version of a model that is about to be registered. Until that is stored the
// copy is marked as nobody's, so that the next start sweeps it where the server dies in between.
import { constants, existsSync } from "node:fs";
import { copyFile, readdir, rm, writeFile } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { adapterFolderOf, type ModelVersion } from "../domain/model.ts";
import { stateOf, storedState } from "../domain/trainer/state.ts";
import { deletionMark } from "../registry/model-service.ts";
import type { CopiedAdapter } from "../registry/register-model.ts";
import { makeFolder, writeWholeFolder } from "./whole-folder.ts";

export interface CopyDependencies {
  readonly dataFolder: string;
  /** Hex SHA-256 of the files of an adapter, whose folder is relative to the data folder. */
  readonly hashOf: (adapterFolder: string) => Promise<string>;
}

/**
 * Copies the adapter and what training goes on from.
 *
 * @param source a version that has an adapter
 * @param modelId of the model that is to have it
 * @returns null when the adapter is not the one that was stored: nothing of it is left then
 */
export async function copyAdapter(
  { dataFolder, hashOf }: CopyDependencies,
  source: ModelVersion & { readonly adapterFolder: string },
  modelId: string,
): Promise<CopiedAdapter | null> {
  const adapterFolder = adapterFolderOf(modelId, 1);
  const modelFolder = dirname(join(dataFolder, adapterFolder));
  const mark = join(modelFolder, deletionMark);
  const discard = (): Promise<void> => rm(modelFolder, { recursive: true, force: true });
  await makeFolder(modelFolder);
  try {
    await writeFile(mark, "");
    await copyFolder(join(dataFolder, source.adapterFolder), join(dataFolder, adapterFolder));
    const adapterHash = await hashOf(adapterFolder);
    if (source.adapterHash !== null && source.adapterHash !== adapterHash) {
      await discard();
      return null;
    }
    return {
      adapterFolder,
      adapterHash,
      trainerState: movedState(source, { dataFolder, folder: adapterFolder }),
      keep: () => rm(mark, { force: true }),
      discard,
    };
  } catch (error) {
    await discard();
    throw error;
  }
}

async function copyFolder(source: string, folder: string): Promise<void> {
  const unfinished = join(dirname(folder), ".1.tmp-copy");
  await writeWholeFolder({ folder, unfinished }, async () => {
    for (const { name } of (await readdir(source, { withFileTypes: true })).filter((entry) => entry.isFile()))
      await copyFile(join(source, name), join(unfinished, name), constants.COPYFILE_FICLONE);
  });
}

/** A state that lies with its adapter went along; one that a trainer keeps elsewhere is that version's alone. */
function movedState(
  { adapterFolder, trainerState }: ModelVersion,
  { dataFolder, folder }: { readonly dataFolder: string; readonly folder: string },
): string | null {
  if (trainerState === null) return null;
  const { trainer, state } = stateOf(trainerState);
  if (!state.startsWith(`${adapterFolder}/`)) return null;
  const moved = `${folder}/${basename(state)}`;
  return existsSync(join(dataFolder, moved)) ? storedState(trainer, moved) : null;
}

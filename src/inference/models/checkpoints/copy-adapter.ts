// Copies a version's adapter as the first version of a new model. The copy is marked until the model is stored in the
// database. If the server crashes before that, a later sweep removes the marked copy.
import { constants } from "node:fs";
import { copyFile } from "node:fs/promises";
import { basename, join } from "node:path";
import type { ArtifactStore } from "../../../store/artifacts/artifact-store.ts";
import { adapterFolderOf, adaptersOf, type ModelVersion } from "../../../base/domain/model.ts";
import { stateOf, storedState } from "../../../base/domain/trainer/profile.ts";
import { adapterFiles, unreadableAdapter } from "../../architectures/hashes/adapter-hash.ts";
import type { CopiedAdapter } from "../registry/register-model.ts";

export interface CopyDependencies {
  readonly artifacts: ArtifactStore;
  /** Returns the hex SHA-256 of an adapter's files. */
  readonly hashOf: (folder: string) => Promise<string>;
}

/**
 * Copies the adapter and its state for further training.
 *
 * @param source a version that has an adapter
 * @param modelId id of the new model
 * @throws ServiceError `conflict` when the adapter differs from the stored hash; the partial copy is then removed
 */
export async function copyAdapter(
  { artifacts, hashOf }: CopyDependencies,
  source: ModelVersion & { readonly adapterFolder: string },
  modelId: string,
): Promise<CopiedAdapter> {
  const key = adaptersOf(modelId);
  const adapterFolder = adapterFolderOf(modelId, 1);
  const keep = (): Promise<void> => artifacts.release(key);
  const discard = async (): Promise<void> => {
    await artifacts.remove(key);
    await keep();
  };
  await artifacts.hold(key);
  try {
    const from = await artifacts.path(source.adapterFolder, null);
    const adapterHash = await artifacts.put(adapterFolder, async (folder) => {
      for (const name of Object.values(adapterFiles)) await copy(join(from, name), join(folder, name));
      const hash = await hashOf(folder);
      if (source.adapterHash !== null && source.adapterHash !== hash)
        throw unreadableAdapter("its files have changed");
      return hash;
    });
    const trainerState = await copyState(artifacts, source, adapterFolder);
    return { adapterFolder, adapterHash, trainerState, keep, discard };
  } catch (error) {
    await discard();
    throw error;
  }
}

/**
 * Copies the state for further training if it is a file in the adapter's folder. State that a remote trainer keeps is
 * not copied.
 */
async function copyState(
  artifacts: ArtifactStore,
  { adapterFolder, trainerState }: ModelVersion,
  toFolder: string,
): Promise<string | null> {
  if (trainerState === null) return null;
  const { trainer, state } = stateOf(trainerState);
  if (!state.startsWith(`${adapterFolder}/`) || !(await artifacts.has(state))) return null;
  const copied = `${toFolder}/${basename(state)}`;
  const from = await artifacts.path(state, null);
  await artifacts.putFile(copied, (file) => copy(from, file));
  return storedState(trainer, copied);
}

function copy(from: string, to: string): Promise<void> {
  return copyFile(from, to, constants.COPYFILE_FICLONE);
}

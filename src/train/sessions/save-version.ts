// Saves the weights of a live model as a version. The process writes them to a scratch folder, from which all files
// move to the version at once. They include the state of the optimizer if the client wants to continue from it.
import { copyFile, readdir, rename } from "node:fs/promises";
import { join } from "node:path";
import type { ArtifactStore } from "../../store/artifacts/artifact-store.ts";
import type { ServerFolder } from "../../store/artifacts/server-folder.ts";
import type { Clock } from "../../base/domain/clock.ts";
import {
  adapterFolderOf,
  type ModelStore,
  type ModelVersion,
  type SavedName,
  type TrainedModel,
} from "../../base/domain/model.ts";
import { newUuid } from "../../base/domain/random.ts";
import { storedState, type TrainerProfile } from "../../base/domain/trainer/profile.ts";
import { fullDiskError } from "../../base/domain/transient-errors/full-disk.ts";
import type { LiveProcess } from "./process/start-process.ts";

export interface SaveDependencies {
  readonly store: Pick<ModelStore, "addVersion">;
  readonly artifacts: Pick<ArtifactStore, "put">;
  readonly folder: Pick<ServerFolder, "withScratch">;
  /** Profile of the trainer in the processes. */
  readonly trainer: TrainerProfile;
  readonly clock: Clock;
}

export interface VersionWish {
  /** Name under which the client finds the version; null for none. */
  readonly saved: SavedName | null;
  /** True to save the state of the optimizer, too. */
  readonly hasState: boolean;
}

/** @throws ServiceError as `addVersion`; `unavailable` if the disk is full */
export async function saveVersion(
  { store, artifacts, folder, trainer, clock }: SaveDependencies,
  process: LiveProcess,
  { id: modelId }: Pick<TrainedModel, "id">,
  { saved, hasState }: VersionWish,
): Promise<ModelVersion> {
  const saveIn = async (scratch: string): Promise<ModelVersion> => {
    const { adapterHash, stateFile } = await process.call("export", { folder: scratch, hasState });
    const draft = {
      id: newUuid(),
      modelId,
      metrics: {},
      base: process.weights,
      adapterHash,
      createdAt: clock.now(),
      ...(saved === null ? {} : { saved }),
      ...(stateFile === null
        ? {}
        : { trainerStateIn: (key: string) => storedState(trainer.name, `${key}/${stateFile}`) }),
    };
    const place = async (step: number, mayPut: () => Promise<void>): Promise<string> => {
      const key = adapterFolderOf(modelId, step);
      await artifacts.put(key, (target) => moveAll(scratch, target), { mayPut });
      return key;
    };
    return store.addVersion(draft, place);
  };
  try {
    return await folder.withScratch(saveIn);
  } catch (error) {
    throw fullDiskError(error) ?? error;
  }
}

/** Moves all files of a folder. Copies them if necessary, because a rename cannot cross disks. */
async function moveAll(from: string, to: string): Promise<void> {
  for (const name of await readdir(from))
    await rename(join(from, name), join(to, name)).catch((error: unknown) => {
      const isElsewhere = error instanceof Error && "code" in error && error.code === "EXDEV";
      if (!isElsewhere) throw error;
      return copyFile(join(from, name), join(to, name));
    });
}

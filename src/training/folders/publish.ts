// The folders of versions: publishing one, and removing what is none or of none.
import { readdir, rm } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import type { SavedVersion, Trainer, TrainerCall } from "../trainer.ts";
import { writeWholeFolder } from "../../checkpoints/whole-folder.ts";

export interface PublishTarget {
  /** The root of all data. */
  readonly dataFolder: string;
  /** Such as `adapters/<model>/<step>`, relative to the data folder. */
  readonly adapterFolder: string;
  /** Tells this job's unfinished folder from others'. */
  readonly jobId: string;
}

/**
 * Saves what the trainer holds as the given folder. A folder of that name can only be what a lost attempt left behind,
 * since versions are numbered once; it is replaced. A save that fails leaves nothing behind.
 */
export async function publishAdapter(
  trainer: Pick<Trainer, "save">,
  { dataFolder, adapterFolder, jobId }: PublishTarget,
  call: TrainerCall,
): Promise<SavedVersion> {
  const folder = join(dataFolder, adapterFolder);
  // Of this process alone: the process of a lost attempt may not have noticed yet that nobody waits for it.
  const unfinished = join(dirname(folder), `.${basename(folder)}.tmp-${jobId}-${process.pid}`);
  return writeWholeFolder({ folder, unfinished }, () =>
    trainer.save({ folder: unfinished, adapterFolder }, call),
  );
}

/** Whether a name in a model's folder is of a version that is still being written. */
export function isUnfinished(name: string): boolean {
  return /^\.\d+\.tmp-/.test(name);
}

/** Removes what attempts at a job left of a version that is not published and, by its owner's word, never will be. */
export async function removeUnpublished(dataFolder: string, adapterFolder: string): Promise<void> {
  await removeUnfinished(dataFolder, adapterFolder);
  await rm(join(dataFolder, adapterFolder), { recursive: true, force: true });
}

/** Removes what training would go on from at a version; the version serves without. */
export async function removeTrainerState(dataFolder: string, trainerState: string): Promise<void> {
  await rm(join(dataFolder, trainerState), { force: true });
}

/** Removes what attempts left that did not come as far as a whole folder. */
export async function removeUnfinished(dataFolder: string, adapterFolder: string): Promise<void> {
  const folder = join(dataFolder, adapterFolder);
  const parent = dirname(folder);
  const names = await readdir(parent).catch(() => []);
  for (const name of names) {
    if (name.startsWith(`.${basename(folder)}.tmp-`))
      await rm(join(parent, name), { recursive: true, force: true });
  }
}

// Puts a version's folder in its place, whole or not at all: written under another name, flushed to disk, renamed.
import { mkdir, open, readdir, rename, rm } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { ServiceError } from "../domain/service-error.ts";
import type { SavedVersion, Trainer, TrainerCall } from "./trainer.ts";

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
  const parent = dirname(folder);
  // Of this process alone: the process of a lost attempt may not have noticed yet that nobody waits for it.
  const unfinished = join(parent, `.${basename(folder)}.tmp-${jobId}-${process.pid}`);
  await makeFolder(parent);
  await rm(unfinished, { recursive: true, force: true });
  await mkdir(unfinished);
  try {
    const saved = await trainer.save({ folder: unfinished, adapterFolder }, call);
    for (const file of await readdir(unfinished)) await flush(join(unfinished, file));
    await flush(unfinished);
    refuseOrphan();
    await rm(folder, { recursive: true, force: true });
    await rename(unfinished, folder);
    await flush(parent);
    return saved;
  } catch (error) {
    await rm(unfinished, { recursive: true, force: true });
    throw error;
  }
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

/** A folder that lasts, with those above it that were missing. */
async function makeFolder(folder: string): Promise<void> {
  const first = await mkdir(folder, { recursive: true });
  if (first === undefined) return;
  for (let made = folder; made.length >= first.length; made = dirname(made)) await flush(dirname(made));
}

/** A process whose parent died has a successor by now, or soon. */
function refuseOrphan(): void {
  if (process.send === undefined || process.connected) return;
  throw new ServiceError({
    code: "cancelled",
    message: "Nobody waits for this version any more: the server that asked for it is gone.",
  });
}

async function flush(path: string): Promise<void> {
  const handle = await open(path, "r");
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}

// Puts a version's folder in its place, whole or not at all: written under another name, flushed to disk, renamed.
import { mkdir, open, readdir, rename, rm } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
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
  const unfinished = join(parent, `.${basename(folder)}.tmp-${jobId}`);
  await mkdir(parent, { recursive: true });
  await rm(unfinished, { recursive: true, force: true });
  await mkdir(unfinished);
  try {
    const saved = await trainer.save({ folder: unfinished, adapterFolder }, call);
    for (const file of await readdir(unfinished)) await flush(join(unfinished, file));
    await flush(unfinished);
    await rm(folder, { recursive: true, force: true });
    await rename(unfinished, folder);
    await flush(parent);
    return saved;
  } catch (error) {
    await rm(unfinished, { recursive: true, force: true });
    throw error;
  }
}

async function flush(path: string): Promise<void> {
  const handle = await open(path, "r");
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}

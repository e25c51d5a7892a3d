// The folders of versions: publishes one, and removes unfinished ones and those that no version has.
import { readdir, rm } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import type { Trainer } from "../trainer.ts";
import { writeWholeFolder } from "../../checkpoints/whole-folder.ts";

export interface PublishTarget {
  /** The root of all data. */
  readonly dataFolder: string;
  /** Such as `adapters/<model>/<step>`, relative to the data folder. */
  readonly adapterFolder: string;
  /** Is part of the unfinished folder's name, so that no two jobs share one. */
  readonly jobId: string;
}

/**
 * Publishes the trainer's adapter as the given folder, and has the trainer keep its state under that name. A folder there can
 * only be what a lost attempt left behind, since versions are numbered once; it is replaced. An export that fails leaves
 * nothing behind; a folder whose state could not be kept is what a lost attempt leaves.
 *
 * @returns the trainer's own word for its state
 */
export async function publishVersion(
  trainer: Pick<Trainer, "exportAdapter" | "saveState">,
  { dataFolder, adapterFolder, jobId }: PublishTarget,
  { signal }: { readonly signal: AbortSignal },
): Promise<string> {
  const folder = join(dataFolder, adapterFolder);
  // Of this process alone: the process of a lost attempt may not have noticed yet that nobody waits for it.
  const unfinished = join(dirname(folder), `.${basename(folder)}.tmp-${jobId}-${process.pid}`);
  const call = (id: string) => ({ id: `${id} of the version`, signal });
  await writeWholeFolder({ folder, unfinished }, () => trainer.exportAdapter(unfinished, call("adapter")));
  return await trainer.saveState(adapterFolder, call("state"));
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

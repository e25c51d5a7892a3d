// Puts a folder in its place whole or not at all, also where the power fails: written under another name, flushed to
// disk, renamed.
import { mkdir, open, readdir, rename, rm } from "node:fs/promises";
import { dirname } from "node:path";
import { ServiceError } from "../domain/service-error.ts";

export interface WholeFolder {
  /** Replaced when it is there. */
  readonly folder: string;
  /** Another name in the same folder, of this process alone. */
  readonly unfinished: string;
}

/**
 * Has `write` fill the unfinished folder, and gives it its name. What fails leaves nothing behind.
 *
 * @throws ServiceError `cancelled` when the parent of this process is gone; and whatever `write` throws
 */
export async function writeWholeFolder<Result>(
  { folder, unfinished }: WholeFolder,
  write: () => Promise<Result>,
): Promise<Result> {
  const parent = dirname(folder);
  await makeFolder(parent);
  await rm(unfinished, { recursive: true, force: true });
  await mkdir(unfinished);
  try {
    const result = await write();
    for (const file of await readdir(unfinished)) await flush(`${unfinished}/${file}`);
    await flush(unfinished);
    refuseOrphan();
    await rm(folder, { recursive: true, force: true });
    await rename(unfinished, folder);
    await flush(parent);
    return result;
  } catch (error) {
    await rm(unfinished, { recursive: true, force: true });
    throw error;
  }
}

/** A folder that lasts, with those above it that were missing. */
export async function makeFolder(folder: string): Promise<void> {
  const first = await mkdir(folder, { recursive: true });
  if (first === undefined) return;
  for (let made = folder; made.length >= first.length; made = dirname(made)) await flush(dirname(made));
}

/** Has what was written to a file, or which files there are in a folder, survive a loss of power. */
export async function flush(path: string): Promise<void> {
  const handle = await open(path, "r");
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}

/** @throws ServiceError `cancelled`: a process whose parent died has a successor by now, or soon. */
export function refuseOrphan(): void {
  if (process.send === undefined || process.connected) return;
  throw new ServiceError({
    code: "cancelled",
    message: "Nobody waits for this work any more: the server that asked for it is gone.",
  });
}

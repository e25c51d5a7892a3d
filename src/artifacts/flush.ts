// Has what was written survive a loss of power.
import { mkdir, open, stat } from "node:fs/promises";
import { dirname } from "node:path";

/**
 * Has the content of a file, or which files there are in a folder, survive a loss of power. Windows flushes only what is open
 * for writing, which a folder cannot be; its file system keeps a journal of names.
 */
export async function flush(path: string): Promise<void> {
  const isWindows = process.platform === "win32";
  if (isWindows && (await stat(path)).isDirectory()) return;
  const handle = await open(path, isWindows ? "r+" : "r");
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}

/** A folder that lasts, with those above it that were missing. */
export async function makeFolder(folder: string): Promise<void> {
  const first = await mkdir(folder, { recursive: true });
  if (first === undefined) return;
  for (let made = folder; made.length >= first.length; made = dirname(made)) await flush(dirname(made));
}

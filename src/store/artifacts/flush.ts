// Flushes files and folders to disk, so that they survive a power loss.
import { mkdir, open, stat } from "node:fs/promises";
import { dirname, resolve } from "node:path";

/**
 * Flushes a file's content or a folder's entries to disk. On Windows, a file must be open for writing to be flushed,
 * and folders cannot be flushed, but the file system keeps a journal of their entries.
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

/**
 * Creates a folder and its missing parents. Flushes all folders on the path below `root`, which must be durable
 * already. Also flushes existing folders, because the process that created them may have died before flushing them.
 */
export async function makeFolder(folder: string, root = folder): Promise<void> {
  const first = await mkdir(folder, { recursive: true });
  const top = Math.min(resolve(root).length + 1, first?.length ?? Infinity);
  for (let made = resolve(folder); made.length >= top; made = dirname(made)) await flush(dirname(made));
}

/**
 * Error codes for a folder that cannot be flushed, because this user lacks the permission or the system does not
 * support it.
 */
const unflushable: ReadonlySet<string> = new Set(["EACCES", "EPERM", "EROFS", "EINVAL", "ENOTSUP", "ENOSYS"]);

/** Makes the name of a folder in its parent durable, as far as this user's permissions allow. */
export async function keepName(folder: string): Promise<void> {
  await flush(dirname(resolve(folder))).catch((error: unknown) => {
    const code = error instanceof Error && "code" in error ? String(error.code) : "";
    if (!unflushable.has(code)) throw error;
  });
}

// Has what was written survive a loss of power.
import { mkdir, open, stat } from "node:fs/promises";
import { dirname, resolve } from "node:path";

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

/**
 * A folder that lasts, with those above it that were missing, and with all of them up to a root that lasts already: whoever
 * made one that is there may have died before it was on disk.
 */
export async function makeFolder(folder: string, root = folder): Promise<void> {
  const first = await mkdir(folder, { recursive: true });
  const top = Math.min(resolve(root).length + 1, first?.length ?? Infinity);
  for (let made = resolve(folder); made.length >= top; made = dirname(made)) await flush(dirname(made));
}

/** What a system says where a folder above cannot be flushed by this user, or at all. */
const unflushable: ReadonlySet<string> = new Set(["EACCES", "EPERM", "EROFS", "EINVAL", "ENOTSUP", "ENOSYS"]);

/** Has the name of a folder survive a loss of power, whoever made it, as far as this user may see to that. */
export async function keepName(folder: string): Promise<void> {
  await flush(dirname(resolve(folder))).catch((error: unknown) => {
    const code = error instanceof Error && "code" in error ? String(error.code) : "";
    if (!unflushable.has(code)) throw error;
  });
}

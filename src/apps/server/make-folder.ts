// Creates the server's data folders level by level, because Node.js's recursive mkdir never ends on file systems that
// allow no new folders (such as /proc).
import { mkdir, stat } from "node:fs/promises";
import { dirname, resolve } from "node:path";
import { keepName } from "../../store/artifacts/flush.ts";
import { fullDiskError } from "../../base/domain/transient-errors/full-disk.ts";
import { ServiceError } from "../../base/domain/service-error.ts";

/**
 * Creates a folder and its missing parents, and flushes their directory entries to disk. Otherwise a crash could lose
 * the folder's entry, and with it the data in the folder.
 *
 * @param setting name of the folder's setting, for the message
 * @throws ServiceError `invalid` that says which folder cannot be created, why, and what to do; `unavailable` on a
 * full disk
 */
export async function makeFolder(folder: string, setting: string): Promise<void> {
  const missing: string[] = [];
  let path = resolve(folder);
  for (;;) {
    const found = await kindOf(path, setting);
    if (found === "folder") break;
    if (found === "other") throw cannotMake(path, "it is not a folder", setting);
    missing.push(path);
    path = dirname(path);
  }
  for (const next of missing.reverse()) {
    try {
      await mkdir(next);
    } catch (error) {
      // No error if another program has created the folder meanwhile.
      if ((await kindOf(next, setting)) !== "folder")
        throw fullDiskError(error) ?? cannotMake(next, reasonOf(error), setting, error);
    }
  }
  for (const kept of new Set([...missing, resolve(folder)])) await keepName(kept);
}

async function kindOf(path: string, setting: string): Promise<"folder" | "other" | "missing"> {
  try {
    return (await stat(path)).isDirectory() ? "folder" : "other";
  } catch (error) {
    const code = codeOf(error);
    // A path below a file counts as missing here; the loop then finds the file as a parent.
    if (code === "ENOENT" || code === "ENOTDIR") return "missing";
    throw cannotMake(path, reasonOf(error), setting, error);
  }
}

function cannotMake(path: string, reason: string, setting: string, cause?: unknown): ServiceError {
  const message = `The folder ${path} cannot be used: ${reason}. Name another with ${setting}, or change its rights.`;
  return new ServiceError({ code: "invalid", message, cause });
}

const reasons: Readonly<Record<string, string>> = {
  EACCES: "this user has no right to it",
  EPERM: "this user has no right to it",
  EROFS: "its disk is read-only",
  ENOENT: "its file system allows no folders there",
  ENAMETOOLONG: "its name is too long",
  ELOOP: "its links form a loop",
};

function reasonOf(error: unknown): string {
  return reasons[codeOf(error)] ?? (error instanceof Error ? error.message : String(error));
}

function codeOf(error: unknown): string {
  return error instanceof Error && "code" in error ? String(error.code) : "";
}

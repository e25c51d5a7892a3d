// Makes the folders that a server keeps its data in, one level at a time: Node's recursive mkdir never ends where a file
// system has no room for folders of others (below /proc).
import { mkdir, stat } from "node:fs/promises";
import { dirname, resolve } from "node:path";
import { keepName } from "../../store/artifacts/flush.ts";
import { fullDiskError } from "../../base/domain/transient-errors/full-disk.ts";
import { ServiceError } from "../../base/domain/service-error.ts";

/**
 * Makes a folder and those above it that are missing, which last: what is kept in it is no safer than its name.
 *
 * @param setting how the operator named it, for the message
 * @throws ServiceError `invalid` saying which folder cannot be made, why, and what to do; `unavailable` on a full disk
 */
export async function makeFolder(folder: string, setting: string): Promise<void> {
  const missing: string[] = [];
  let path = resolve(folder);
  for (;;) {
    const found = await kindOf(path, setting);
    if (found === "folder") break;
    if (found === "other") throw cannotMake(path, "it is no folder", setting);
    missing.push(path);
    path = dirname(path);
  }
  for (const next of missing.reverse()) {
    try {
      await mkdir(next);
    } catch (error) {
      // Another program may have made it meanwhile.
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
    // What stands below a file is as missing as the file's folder is not: the file itself is met further up.
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
  ENOENT: "its file system makes no folders there",
  ENAMETOOLONG: "its name is too long",
  ELOOP: "its links lead to one another",
};

function reasonOf(error: unknown): string {
  return reasons[codeOf(error)] ?? (error instanceof Error ? error.message : String(error));
}

function codeOf(error: unknown): string {
  return error instanceof Error && "code" in error ? String(error.code) : "";
}

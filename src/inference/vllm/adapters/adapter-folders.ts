// Makes an adapter's folder available to vLLM: the original folder if vLLM can access it, or a copy in a folder that it
// can access. Checks the adapter's files first, so that Hone itself refuses missing or changed files.
import { copyFile, mkdir, mkdtemp, rename, rm, stat } from "node:fs/promises";
import { join, posix, resolve } from "node:path";
import { hashOfHashes } from "../../../store/artifacts/seal.ts";
import type { AdapterReference } from "../../../base/domain/generation.ts";
import { adapterFiles, unreadableAdapter } from "../../architectures/hashes/adapter-hash.ts";
import { hashFile } from "../../architectures/hashes/base-hashes.ts";

export interface AdapterFolders {
  /**
   * Returns the path at which vLLM finds the folder of an adapter. Copies the folder if necessary.
   *
   * @param name name of the adapter in vLLM, which is unique to its contents
   * @throws ServiceError `conflict` if the adapter's files are missing or changed
   */
  folderFor(reference: AdapterReference, name: string): Promise<string>;
  /** Removes the copy of an adapter. Must be called when no vLLM server has the adapter loaded any more. */
  remove(name: string): Promise<void>;
}

const names = Object.values(adapterFiles);

/** Folder for the copies that vLLM reads, and the path of this folder on vLLM's machine. */
export interface CopyFolder {
  readonly folder: string;
  readonly folderAtServer: string;
}

/** @param copies folder for copies; null if vLLM can access this server's files under the same paths */
export function createAdapterFolders(copies: CopyFolder | null): AdapterFolders {
  const checked = new Map<string, Promise<void>>();
  const check = async (reference: AdapterReference, name: string): Promise<void> => {
    const checking = checked.get(name) ?? requireFiles(reference);
    checked.set(name, checking);
    await checking.catch((error: unknown) => {
      checked.delete(name);
      throw error;
    });
  };
  return {
    folderFor: async (reference, name) => {
      await check(reference, name);
      if (copies === null) return resolve(reference.folder);
      await copy(reference.folder, join(copies.folder, name));
      return posix.join(copies.folderAtServer, name);
    },
    remove: async (name) => {
      checked.delete(name);
      if (copies !== null) await rm(join(copies.folder, name), { recursive: true, force: true });
    },
  };
}

async function requireFiles({ folder, hash }: AdapterReference): Promise<void> {
  try {
    const hashes = await Promise.all(
      names.map(async (name) => {
        const file = join(folder, name);
        // A file without a recorded hash must only exist.
        return [name, hash === undefined ? (await stat(file), "") : await hashFile(file)] as const;
      }),
    );
    if (hash === undefined || hashOfHashes(hashes) === hash) return;
  } catch (cause) {
    throw unreadableAdapter("its files cannot be read", cause);
  }
  throw unreadableAdapter("its files differ from the stored ones");
}

/** Copies a folder completely or not at all. A folder under its final name never changes. */
async function copy(from: string, to: string): Promise<void> {
  if (await stat(to).catch(() => null)) return;
  await mkdir(resolve(to, ".."), { recursive: true });
  const unfinished = await mkdtemp(`${to}.`);
  try {
    for (const name of names) await copyFile(join(from, name), join(unfinished, name));
    await rename(unfinished, to);
  } catch (error) {
    await rm(unfinished, { recursive: true, force: true });
    // Another server that shares the folder may have made the same copy first. The failed rename is then no error.
    if (!(await stat(to).catch(() => null))) throw error;
  }
}

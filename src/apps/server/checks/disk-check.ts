// Checks that the server's folders are writable and have free space, by writing and removing a small file.
import { mkdir, open, rm } from "node:fs/promises";
import { join } from "node:path";
import type { Clock } from "../../../base/domain/clock.ts";
import { newUuid } from "../../../base/domain/random.ts";
import { fullDiskError } from "../../../base/domain/transient-errors/full-disk.ts";
import { cacheResult } from "./cache-result.ts";

/** Size of the test file in bytes: the space that a small job needs. */
const probeBytes = 1 << 20;
/** Lifetime of a result in milliseconds. */
const holdsMs = 1000;

/** Returns a check. If a folder cannot be written, it rejects with the reason. */
export function createDiskCheck(folders: readonly string[], clock: Clock): () => Promise<void> {
  return cacheResult(() => probeAll(new Set(folders)), holdsMs, clock);
}

async function probeAll(folders: ReadonlySet<string>): Promise<void> {
  for (const folder of folders) await probe(folder);
}

async function probe(folder: string): Promise<void> {
  const file = join(folder, `.disk-check-${newUuid()}`);
  try {
    await mkdir(folder, { recursive: true });
    const handle = await open(file, "w");
    try {
      // The file is unlinked before it is written, so that a crash leaves no file behind.
      await rm(file, { force: true });
      await handle.writeFile(new Uint8Array(probeBytes));
    } finally {
      await handle.close();
    }
  } catch (error) {
    throw fullDiskError(error) ?? error;
  }
}

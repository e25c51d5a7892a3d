// Whether there is room to write where the server's data lies: it writes a little, and removes it again.
import { mkdir, open, rm } from "node:fs/promises";
import { join } from "node:path";
import type { Clock } from "../../../base/domain/clock.ts";
import { newUuid } from "../../../base/domain/random.ts";
import { fullDiskError } from "../../../base/domain/transient-errors/full-disk.ts";
import { holdResult } from "./hold-result.ts";

/** Bytes written to see that there is room: as much as a small job needs. */
const probeBytes = 1 << 20;
/** How long what was found holds, in milliseconds. */
const holdsMs = 1000;

/** A check that rejects with what keeps the folders from being written. */
export function createDiskCheck(folders: readonly string[], clock: Clock): () => Promise<void> {
  return holdResult(() => probeAll(new Set(folders)), holdsMs, clock);
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
      // It has no name by the time that it is written: a server that dies meanwhile leaves nothing.
      await rm(file, { force: true });
      await handle.writeFile(new Uint8Array(probeBytes));
    } finally {
      await handle.close();
    }
  } catch (error) {
    throw fullDiskError(error) ?? error;
  }
}

// Whether there is room to write where the server's data lies: it writes a little, and removes it again.
import { mkdir, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { Clock } from "../../domain/clock.ts";
import { fullDiskError } from "../../domain/full-disk.ts";

/** Bytes written to see that there is room: as much as a small job needs. */
const probeBytes = 1 << 20;
/** Everybody may ask, so what was found holds for a while, in milliseconds. */
const holdsMs = 1000;

/** A check that rejects with what keeps the folders from being written. */
export function createDiskCheck(folders: readonly string[], clock: Clock): () => Promise<void> {
  let last: { readonly at: number; readonly result: Promise<void> } | null = null;
  return () => {
    const at = clock.monotonicMs();
    if (last === null || at - last.at >= holdsMs) last = { at, result: probeAll(new Set(folders)) };
    return last.result;
  };
}

async function probeAll(folders: ReadonlySet<string>): Promise<void> {
  for (const folder of folders) await probe(folder);
}

async function probe(folder: string): Promise<void> {
  const file = join(folder, `.disk-check-${process.pid}`);
  try {
    await mkdir(folder, { recursive: true });
    await writeFile(file, new Uint8Array(probeBytes));
  } catch (error) {
    throw fullDiskError(error) ?? error;
  } finally {
    await rm(file, { force: true });
  }
}

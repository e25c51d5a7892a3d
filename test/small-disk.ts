// A small file system in memory that tests can fill and free, if this machine lets them mount one.
import { spawnSync } from "node:child_process";
import { closeSync, mkdtempSync, openSync, rmSync, writeSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

export interface SmallDisk {
  readonly folder: string;
  /** Fills the remaining space. */
  fill(): void;
  free(): void;
  /** Unmounts and deletes the file system. */
  remove(): void;
}

/** Mounts a file system of this size; returns null if tests may not mount file systems. */
export function mountSmallDisk(mebibytes: number): SmallDisk | null {
  const folder = mkdtempSync(join(tmpdir(), "hone-disk-"));
  const mount = spawnSync("mount", ["-t", "tmpfs", "-o", `size=${mebibytes}m`, "tmpfs", folder]);
  const remove = (): void => {
    if (mount.status === 0) spawnSync("umount", ["--lazy", folder]);
    rmSync(folder, { recursive: true, force: true });
  };
  if (mount.status !== 0) {
    remove();
    return null;
  }
  const filler = join(folder, "filler");
  return {
    folder,
    fill: () => {
      // Fills the disk with large pieces first, because they are faster, then the rest with small ones.
      for (const size of [1 << 20, 4096]) appendUntilFull(filler, size);
    },
    free: () => rmSync(filler, { force: true }),
    remove,
  };
}

function appendUntilFull(file: string, size: number): void {
  const descriptor = openSync(file, "a");
  const piece = new Uint8Array(size);
  try {
    for (;;) writeSync(descriptor, piece);
  } catch {
    // Expected: the disk is full.
  } finally {
    closeSync(descriptor);
  }
}

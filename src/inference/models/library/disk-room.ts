// Checks before writing that a disk has enough room.
import { statfs } from "node:fs/promises";
import { ServiceError } from "../../../base/domain/service-error.ts";
import { sizeText } from "../../../base/domain/text/size-text.ts";

/** Bytes that must stay free for concurrent writes. */
const spareBytes = 64 * 1024 * 1024;

/** @throws ServiceError `unavailable` with the free and the needed bytes */
export async function requireDiskRoom(folder: string, neededBytes: number): Promise<void> {
  const { bavail, bsize } = await statfs(folder);
  const freeBytes = bavail * bsize;
  if (neededBytes === 0 || neededBytes + spareBytes <= freeBytes) return;
  throw new ServiceError({
    code: "unavailable",
    obstacle: "full-disk",
    message: `The model needs ${sizeText(neededBytes + spareBytes)} on the disk of ${folder}, which has ${sizeText(freeBytes)}. Make room there, or name a data folder on another disk with --data.`,
  });
}

// Checks that a disk has enough free space before files are written.
import { statfs } from "node:fs/promises";
import { ServiceError } from "../../../base/domain/service-error.ts";
import { sizeText } from "../../../base/domain/text/size-text.ts";

/** Number of bytes that must stay free for other writers. */
const spareBytes = 64 * 1024 * 1024;

/**
 * Requires that the disk has enough free space.
 *
 * @throws ServiceError `unavailable` if space is missing; the message states the free and the needed bytes
 */
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

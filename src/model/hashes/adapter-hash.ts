// What an adapter is, as one hash over the two files that make it: whoever is about to use it notices a byte that changed
// on disk since it was stored. Reads at once, in the processes and threads that read adapters.
import { createHash } from "node:crypto";
import { closeSync, openSync, readSync } from "node:fs";
import { join } from "node:path";
import { ServiceError } from "../../domain/service-error.ts";

/** The files of a PEFT folder. */
export const adapterFiles = { config: "adapter_config.json", matrices: "adapter_model.safetensors" } as const;

const pieceBytes = 1 << 20;

/**
 * The hex SHA-256 over the names and contents of an adapter's files.
 *
 * @param folder in the PEFT layout
 */
export function adapterHash(folder: string): string {
  const hash = createHash("sha256");
  for (const name of Object.values(adapterFiles))
    hash.update(`${JSON.stringify(name)} ${hashFile(join(folder, name))}\n`);
  return hash.digest("hex");
}

/**
 * Refuses an adapter that is not the one that was stored.
 *
 * @param hash of that one; null where it was not recorded, which refuses nothing
 * @throws ServiceError `conflict` when a file is gone or another one
 */
export function requireAdapter(folder: string, hash: string | null): void {
  if (hash === null) return;
  let now: string;
  try {
    now = adapterHash(folder);
  } catch (cause) {
    throw unreadableAdapter("its files cannot be read", cause);
  }
  if (now !== hash)
    throw unreadableAdapter(
      `its files hash to ${now.slice(0, 12)}, and hashed to ${hash.slice(0, 12)} when they were stored`,
    );
}

/** The refusal of an adapter that is not there or damaged: nothing of the request, but it can be mended. */
export function unreadableAdapter(reason: string, cause?: unknown): ServiceError {
  const message = `The adapter on disk is not the one that was stored: ${reason}. Put its files back from a copy, or delete the version.`;
  return new ServiceError({ code: "conflict", message, cause });
}

function hashFile(file: string): string {
  const hash = createHash("sha256");
  const piece = new Uint8Array(pieceBytes);
  const descriptor = openSync(file, "r");
  try {
    for (let count = -1; count !== 0;) {
      count = readSync(descriptor, piece);
      hash.update(piece.subarray(0, count));
    }
  } finally {
    closeSync(descriptor);
  }
  return hash.digest("hex");
}

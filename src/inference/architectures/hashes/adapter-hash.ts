// Identity of an adapter: one hash over its configuration and its matrices. Other files in the folder do not affect
// the hash.
import { hashOfFiles, sealMismatchError, requireSealed, type Seal } from "../../../store/artifacts/seal.ts";
import type { ServiceError } from "../../../base/domain/service-error.ts";

/** Names of the two files of an adapter in a PEFT folder. */
export const adapterFiles = { config: "adapter_config.json", matrices: "adapter_model.safetensors" } as const;

const sealedFiles = Object.values(adapterFiles);
const what = "adapter";

/**
 * Returns the hex SHA-256 over the names and contents of an adapter's files.
 *
 * @param folder folder in the PEFT layout
 */
export function adapterHash(folder: string): string {
  return hashOfFiles(folder, sealedFiles);
}

/** Returns a seal, which checks an adapter's files against this hash; null if no hash was recorded. */
export function adapterSeal(hash: string | null): Seal | null {
  return hash === null ? null : { what, files: sealedFiles, hash };
}

/**
 * Checks that a folder still holds the adapter that was stored in it.
 *
 * @param hash hash of the stored adapter; null if no hash was recorded, in which case any adapter is accepted
 * @throws ServiceError `conflict` if a file is missing or changed
 */
export function requireAdapter(folder: string, hash: string | null): void {
  const seal = adapterSeal(hash);
  if (seal !== null) requireSealed(folder, seal);
}

/**
 * Returns the error for a missing or damaged adapter. It is a conflict, because the request is not at fault and the
 * adapter can be repaired.
 */
export function unreadableAdapter(reason: string, cause?: unknown): ServiceError {
  return sealMismatchError(what, reason, cause);
}

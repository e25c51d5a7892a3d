// Identity of an adapter: one hash over its two files. Other files in the folder do not count.
import { hashOfFiles, sealMismatchError, requireSealed, type Seal } from "../../../store/artifacts/seal.ts";
import type { ServiceError } from "../../../base/domain/service-error.ts";

/** The files of a PEFT folder. */
export const adapterFiles = { config: "adapter_config.json", matrices: "adapter_model.safetensors" } as const;

const sealedFiles = Object.values(adapterFiles);
const what = "adapter";

/**
 * Returns the hex SHA-256 over the names and contents of an adapter's files.
 *
 * @param folder in the PEFT layout
 */
export function adapterHash(folder: string): string {
  return hashOfFiles(folder, sealedFiles);
}

/** Returns the seal that the adapter with this hash must match; null if no hash was recorded. */
export function adapterSeal(hash: string | null): Seal | null {
  return hash === null ? null : { what, files: sealedFiles, hash };
}

/**
 * Requires that a folder holds the stored adapter.
 *
 * @param hash hash of the stored adapter; null if it was not recorded, which accepts any adapter
 * @throws ServiceError `conflict` if a file is missing or changed
 */
export function requireAdapter(folder: string, hash: string | null): void {
  const seal = adapterSeal(hash);
  if (seal !== null) requireSealed(folder, seal);
}

/** Creates the error for a missing or damaged adapter, which is not the request's fault and can be repaired. */
export function unreadableAdapter(reason: string, cause?: unknown): ServiceError {
  return sealMismatchError(what, reason, cause);
}

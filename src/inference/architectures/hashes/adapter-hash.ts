// What an adapter is, as one hash over the two files that make it; whatever lies beside them is none of it.
import { hashOfFiles, notAsStored, requireSealed, type Seal } from "../../../store/artifacts/seal.ts";
import type { ServiceError } from "../../../base/domain/service-error.ts";

/** The files of a PEFT folder. */
export const adapterFiles = { config: "adapter_config.json", matrices: "adapter_model.safetensors" } as const;

const sealedFiles = Object.values(adapterFiles);
const what = "adapter";

/**
 * The hex SHA-256 over the names and contents of an adapter's files.
 *
 * @param folder in the PEFT layout
 */
export function adapterHash(folder: string): string {
  return hashOfFiles(folder, sealedFiles);
}

/** What the adapter of a hash has to be; null where that was not recorded. */
export function adapterSeal(hash: string | null): Seal | null {
  return hash === null ? null : { what, files: sealedFiles, hash };
}

/**
 * Refuses an adapter that is not the one that was stored.
 *
 * @param hash of that one; null where it was not recorded, which refuses nothing
 * @throws ServiceError `conflict` when a file is gone or another one
 */
export function requireAdapter(folder: string, hash: string | null): void {
  const seal = adapterSeal(hash);
  if (seal !== null) requireSealed(folder, seal);
}

/** The refusal of an adapter that is not there or damaged: nothing of the request, but it can be mended. */
export function unreadableAdapter(reason: string, cause?: unknown): ServiceError {
  return notAsStored(what, reason, cause);
}

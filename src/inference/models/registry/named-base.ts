// A base model as the operator named it, which may turn out to be one that cannot be loaded.
import type { BaseModel } from "../../../base/domain/model.ts";
import { fullDiskError } from "../../../base/domain/transient-errors/full-disk.ts";
import { ServiceError } from "../../../base/domain/service-error.ts";

/** One with a fault cannot be loaded, and its folder may not exist. */
export interface NamedBase extends BaseModel {
  /** Why it cannot be loaded; absent if nothing is known to be wrong. */
  readonly fault?: ServiceError;
}

/** The base model in the folder that `find` returns; listed at `path` with what `find` throws. */
export function inFolder(base: Omit<BaseModel, "folder">, path: string, find: () => string): NamedBase {
  try {
    return { ...base, folder: find() };
  } catch (error) {
    return { ...base, folder: path, fault: loadFault(error) };
  }
}

/** Why a base model cannot be loaded, as an operating error: those of the file system say what cannot be read. */
export function loadFault(error: unknown): ServiceError {
  if (error instanceof ServiceError) return error;
  const message = fullDiskError(error)?.message ?? (error instanceof Error ? error.message : String(error));
  return new ServiceError({ code: "unavailable", message, cause: error });
}

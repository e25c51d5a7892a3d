// A base model that the operator named, even if it cannot be loaded.
import type { BaseModel } from "../../../base/domain/model.ts";
import { fullDiskError } from "../../../base/domain/transient-errors/full-disk.ts";
import { ServiceError } from "../../../base/domain/service-error.ts";

/** A base model, possibly with a fault; a model with a fault cannot be loaded, and its folder may not exist. */
export interface NamedBase extends BaseModel {
  /** Reason why the model cannot be loaded; absent if no fault is known. */
  readonly fault?: ServiceError;
}

/**
 * Returns the base model in the folder that `find` returns. If `find` throws, returns a base model with the folder
 * `path` and that error as its fault.
 */
export function baseInFolder(base: Omit<BaseModel, "folder">, path: string, find: () => string): NamedBase {
  try {
    return { ...base, folder: find() };
  } catch (error) {
    return { ...base, folder: path, fault: loadFault(error) };
  }
}

/** Returns the error for a base model that cannot be loaded; errors of the file system name the unreadable file. */
export function loadFault(error: unknown): ServiceError {
  if (error instanceof ServiceError) return error;
  const message = fullDiskError(error)?.message ?? (error instanceof Error ? error.message : String(error));
  return new ServiceError({ code: "unavailable", message, cause: error });
}

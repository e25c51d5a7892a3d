// A base model that the operator has named, whether or not it can be loaded.
import type { BaseModel } from "../../../base/domain/model.ts";
import { fullDiskError } from "../../../base/domain/transient-errors/full-disk.ts";
import { ServiceError } from "../../../base/domain/service-error.ts";

/** A base model that may have a fault. If so, it cannot be loaded, and its folder may not exist. */
export interface NamedBase extends BaseModel {
  /** Reason why the model cannot be loaded; absent if no fault is known. */
  readonly fault?: ServiceError;
}

/**
 * Returns a base model with the folder that `find` returns. If `find` throws, the base model has the folder `path` and
 * that error as its fault.
 */
export function baseInFolder(base: Omit<BaseModel, "folder">, path: string, find: () => string): NamedBase {
  try {
    return { ...base, folder: find() };
  } catch (error) {
    return { ...base, folder: path, fault: loadFault(error) };
  }
}

/**
 * Returns the error for a base model that cannot be loaded. Errors of the file system name the file that cannot be
 * read.
 */
export function loadFault(error: unknown): ServiceError {
  if (error instanceof ServiceError) return error;
  const message = fullDiskError(error)?.message ?? (error instanceof Error ? error.message : String(error));
  return new ServiceError({ code: "unavailable", message, cause: error });
}

// Files that clients upload and that later requests refer to: metadata, and the contract of its store. The bytes are
// stored as artifacts.
import type { Page, PageRequest } from "../page.ts";

export interface UploadedFile {
  readonly id: string;
  readonly entity: string;
  /** Human-readable name given by the client. */
  readonly name: string;
  /** Purpose as stated by the client. */
  readonly purpose: string;
  readonly byteCount: number;
  readonly createdAt: Date;
  /** Time of the last request that used the file; initially the creation time. */
  readonly usedAt: Date;
}

export interface FileFilter {
  readonly entity: string | null;
  readonly purpose: string | null;
  /** Includes only files that were not used since this time; null includes all. */
  readonly unusedSince: Date | null;
}

export interface FileStore {
  /**
   * Stores a file's metadata; durable when it resolves. @throws ServiceError `too_large` if the entity's files
   * together would exceed `entityBytesMax` bytes
   */
  create(file: UploadedFile, entityBytesMax: number): Promise<void>;
  find(id: string): Promise<UploadedFile | null>;
  /** Returns files in the order of creation; null fields of the filter match all. */
  list(filter: FileFilter, page: PageRequest): Promise<Page<UploadedFile>>;
  /** Deletes a file's metadata. Returns false if there is no such file. */
  delete(id: string): Promise<boolean>;
  /** Records that a request used the file. It is no error if the file was deleted. */
  use(id: string, at: Date): Promise<void>;
}

/** Returns the error message for a file that exceeds the remaining space of the entity. */
export function entityFullMessage(usedBytes: number, byteCount: number, entityBytesMax: number): string {
  return (
    `The files of this entity have ${usedBytes} bytes, and this one has ${byteCount}; together they may have ` +
    `${entityBytesMax} (files.entityBytes). Delete files that are no longer needed.`
  );
}

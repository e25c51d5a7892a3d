// Metadata of files that clients upload for use in later requests, and the contract of the store for it. The files'
// bytes are artifacts.
import type { Page, PageRequest } from "../page.ts";

export interface UploadedFile {
  readonly id: string;
  readonly entity: string;
  /** File name that the client sent. The server only shows it; files are found by their ids. */
  readonly name: string;
  /** Purpose of the file that the client stated. */
  readonly purpose: string;
  readonly byteCount: number;
  readonly createdAt: Date;
  /** Time of the last request that used the file. At first, it is the time of creation. */
  readonly usedAt: Date;
  /** Time after which the file is deleted, even if it is used; null if only the server's settings decide. */
  readonly expiresAt: Date | null;
}

export interface FileFilter {
  readonly entity: string | null;
  readonly purpose: string | null;
  /** Selects only files that no request has used since this time; null to select all files. */
  readonly unusedSince: Date | null;
  /** Selects only files that expire before this time; null to select all files. */
  readonly expiresBefore: Date | null;
}

export interface FileStore {
  /**
   * Stores a file's metadata; durable when it resolves.
   *
   * @throws ServiceError `too_large` if the entity's files together would exceed `entityBytesMax` bytes
   */
  create(file: UploadedFile, entityBytesMax: number): Promise<void>;
  find(id: string): Promise<UploadedFile | null>;
  /** Returns files in order of creation. Fields of the filter that are null match all files. */
  list(filter: FileFilter, page: PageRequest): Promise<Page<UploadedFile>>;
  /** Deletes a file's metadata. Returns false if there is no such file. */
  delete(id: string): Promise<boolean>;
  /** Records that a request used the file. Does nothing if the file was deleted. */
  use(id: string, at: Date): Promise<void>;
}

/** Returns the error message for a file that is larger than the space that its entity has left. */
export function entityFullMessage(usedBytes: number, byteCount: number, entityBytesMax: number): string {
  return (
    `The files of this entity have ${usedBytes} bytes, and this one has ${byteCount}; together they may have ` +
    `${entityBytesMax} (files.entityBytes). Delete files that are no longer needed.`
  );
}

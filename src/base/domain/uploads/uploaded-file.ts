// Files that clients upload and later requests name: metadata and its store. Their bytes are artifacts.
import type { Page, PageRequest } from "../page.ts";

export interface UploadedFile {
  readonly id: string;
  readonly entity: string;
  /** Name given by the client; for people. */
  readonly name: string;
  /** Purpose, in the client's words. */
  readonly purpose: string;
  readonly byteCount: number;
  readonly createdAt: Date;
  /** Time of the last request that named it; initially the creation time. */
  readonly usedAt: Date;
}

export interface FileFilter {
  readonly entity: string | null;
  readonly purpose: string | null;
  /** Matches only files not used since then. */
  readonly unusedSince: Date | null;
}

export interface FileStore {
  /**
   * Durable when it resolves. @throws ServiceError `too_large` if the entity's files would exceed `entityBytesMax`
   * bytes together
   */
  create(file: UploadedFile, entityBytesMax: number): Promise<void>;
  find(id: string): Promise<UploadedFile | null>;
  /** Returns files in the order of creation; null fields of the filter match all. */
  list(filter: FileFilter, page: PageRequest): Promise<Page<UploadedFile>>;
  /** Returns false if there is no such file. */
  delete(id: string): Promise<boolean>;
  /** Records that a request named the file; no error if it is gone. */
  use(id: string, at: Date): Promise<void>;
}

/** Refusal of a file for which the entity has no room. */
export function entityFullMessage(usedBytes: number, byteCount: number, entityBytesMax: number): string {
  return (
    `The files of this entity have ${usedBytes} bytes, and this one has ${byteCount}; together they may have ` +
    `${entityBytesMax} (files.entityBytes). Delete files that are no longer needed.`
  );
}

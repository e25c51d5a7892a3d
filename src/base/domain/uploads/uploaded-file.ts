// Files that clients upload for later requests to name: what is known of each, and the store of it. Their bytes lie in the
// data folder.
import type { Page, PageRequest } from "../page.ts";

export interface UploadedFile {
  readonly id: string;
  readonly entity: string;
  /** As the client called it; for people. */
  readonly name: string;
  /** What it was uploaded for, in the client's word. */
  readonly purpose: string;
  readonly byteCount: number;
  readonly createdAt: Date;
  /** When a request last named it; at first its creation. */
  readonly usedAt: Date;
}

export interface FileFilter {
  readonly entity: string | null;
  readonly purpose: string | null;
  /** Only those that nobody has used since. */
  readonly unusedSince: Date | null;
}

export interface FileStore {
  /**
   * Durable when it resolves. Throws `too_large` where the files of its entity then had more than `entityBytesMax` bytes
   * together.
   */
  create(file: UploadedFile, entityBytesMax: number): Promise<void>;
  find(id: string): Promise<UploadedFile | null>;
  /** In the order they came; what is null in the filter lets all through. */
  list(filter: FileFilter, page: PageRequest): Promise<Page<UploadedFile>>;
  /** False when there is no such file. */
  delete(id: string): Promise<boolean>;
  /** Notes that a request named it; one that is gone is no error. */
  use(id: string, at: Date): Promise<void>;
}

/** The refusal of a file that an entity has no room for. */
export function entityFullMessage(usedBytes: number, byteCount: number, entityBytesMax: number): string {
  return (
    `The files of this entity have ${usedBytes} bytes, and this one has ${byteCount}; together they may have ` +
    `${entityBytesMax} (files.entityBytes). Delete files that are no longer needed.`
  );
}

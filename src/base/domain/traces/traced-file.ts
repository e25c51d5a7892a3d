// Metadata of files that clients of traces publish, such as the code of an op. Their bytes are artifacts.

export interface TracedFile {
  readonly projectId: string;
  /** Digest of the bytes. */
  readonly digest: string;
  /** Id of the artifact that contains the bytes. */
  readonly fileId: string;
  readonly entity: string;
  readonly byteCount: number;
  readonly createdAt: Date;
}

export interface TracedFileStore {
  /**
   * Stores a file; durable when it resolves. Returns the stored file; if the project already has a file with the same
   * bytes, that file is returned. @throws ServiceError `too_large` if the entity's files together would exceed
   * `entityBytesMax` bytes
   */
  create(file: TracedFile, entityBytesMax: number): Promise<TracedFile>;
  find(projectId: string, digest: string): Promise<TracedFile | null>;
  /** True if any project has the artifact. */
  isKnown(fileId: string): Promise<boolean>;
}

/** Returns the error message for a file that exceeds the remaining space of the entity. */
export function noRoomMessage(byteCount: number, usedBytes: number, entityBytesMax: number): string {
  return (
    `The traced files of this entity have ${usedBytes} bytes, and this one has ${byteCount}; together they may have ` +
    `${entityBytesMax} (files.entityBytes). Delete the traces of projects that are no longer needed.`
  );
}

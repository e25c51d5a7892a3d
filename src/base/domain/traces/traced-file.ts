// Metadata of files that Weave clients publish, such as the code of an op. The artifact store has the files' bytes.

export interface TracedFile {
  readonly projectId: string;
  /** Digest of the file's bytes. */
  readonly digest: string;
  /** Id of the artifact that contains the bytes. */
  readonly fileId: string;
  readonly entity: string;
  readonly byteCount: number;
  readonly createdAt: Date;
}

export interface TracedFileStore {
  /**
   * Stores a file's metadata and returns it; durable when it resolves. If the project already has a file with the same
   * bytes, returns that one.
   *
   * @throws ServiceError `too_large` if the entity's files together would exceed `entityBytesMax` bytes
   */
  create(file: TracedFile, entityBytesMax: number): Promise<TracedFile>;
  find(projectId: string, digest: string): Promise<TracedFile | null>;
  /** True if any project has a file with this artifact. */
  isKnown(fileId: string): Promise<boolean>;
}

/** Returns the error message for a file that is larger than the space that its entity has left. */
export function noRoomMessage(byteCount: number, usedBytes: number, entityBytesMax: number): string {
  return (
    `The traced files of this entity have ${usedBytes} bytes, and this one has ${byteCount}; together they may have ` +
    `${entityBytesMax} (files.entityBytes). Delete the traces of projects that are no longer needed.`
  );
}

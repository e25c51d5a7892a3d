// Metadata of files that clients of traces publish, such as the code of an op. Their bytes are artifacts.

export interface TracedFile {
  readonly projectId: string;
  /** Digest of the bytes. */
  readonly digest: string;
  /** Name of the artifact. */
  readonly fileId: string;
  readonly entity: string;
  readonly byteCount: number;
  readonly createdAt: Date;
}

export interface TracedFileStore {
  /**
   * Durable when it resolves. Returns the stored file, which is an earlier one if the project already has the same
   * bytes. @throws ServiceError `too_large` if the entity's files would exceed `entityBytesMax` bytes together
   */
  create(file: TracedFile, entityBytesMax: number): Promise<TracedFile>;
  find(projectId: string, digest: string): Promise<TracedFile | null>;
  /** True if any project has the artifact. */
  isKnown(fileId: string): Promise<boolean>;
}

/** Refusal of a file for which the entity has no room. */
export function noRoomMessage(byteCount: number, usedBytes: number, entityBytesMax: number): string {
  return (
    `The traced files of this entity have ${usedBytes} bytes, and this one has ${byteCount}; together they may have ` +
    `${entityBytesMax} (files.entityBytes). Delete the traces of projects that are no longer needed.`
  );
}

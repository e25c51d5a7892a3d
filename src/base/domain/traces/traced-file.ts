// Files that clients of traces publish, such as the code of an op: what is known of each. Their bytes are artifacts.

export interface TracedFile {
  readonly projectId: string;
  /** Of the bytes. */
  readonly digest: string;
  /** What its artifact is named by. */
  readonly fileId: string;
  readonly entity: string;
  readonly byteCount: number;
  readonly createdAt: Date;
}

export interface TracedFileStore {
  /**
   * Durable when it resolves; returns what is stored, which is an earlier one where the project has the same bytes already.
   * Throws `too_large` where the files of its entity then had more than `entityBytesMax` bytes together.
   */
  create(file: TracedFile, entityBytesMax: number): Promise<TracedFile>;
  find(projectId: string, digest: string): Promise<TracedFile | null>;
  /** Whether some project has the artifact. */
  isKnown(fileId: string): Promise<boolean>;
}

/** The refusal of a file that an entity has no room for. */
export function noRoomMessage(byteCount: number, usedBytes: number, entityBytesMax: number): string {
  return (
    `The traced files of this entity have ${usedBytes} bytes, and this one has ${byteCount}; together they may have ` +
    `${entityBytesMax} (files.entityBytes). Delete the traces of projects that are no longer needed.`
  );
}

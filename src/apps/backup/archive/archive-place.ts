// Storage of an archive: a folder (`folder-place`) or a bucket (`bucket-archive-place`). All paths are relative and
// have forward slashes.

export interface ArchivePlace {
  /** Path of the folder, or URL of the bucket. In messages it precedes a file's path. */
  readonly name: string;
  /** Creates the folder if it does not exist; does nothing for a bucket. */
  make(): Promise<void>;
  /** True if nothing is stored there; for a folder, also if it does not exist. */
  isEmpty(): Promise<boolean>;
  has(path: string): Promise<boolean>;
  /** Returns the paths of all files in the archive. */
  files(): Promise<readonly string[]>;
  /**
   * Yields the bytes of a file.
   *
   * @throws ServiceError `not_found` if it does not exist
   */
  read(path: string): AsyncIterable<Uint8Array>;
  /** Starts a new file. The file is complete only once it is closed. */
  create(path: string): Promise<ArchiveFile>;
  /** Writes a small file atomically, replacing an existing one. */
  write(path: string, text: string): Promise<void>;
  /** Removes a file, or everything below a path; does nothing if there is none. */
  remove(path: string): Promise<void>;
  /** Flushes all changes made so far. They then survive a power failure. */
  flush(): Promise<void>;
}

export interface ArchiveFile {
  write(bytes: Uint8Array): Promise<void>;
  close(): Promise<void>;
  /** Discards the file and frees its space. Call it in place of `close`. */
  abandon(): Promise<void>;
}

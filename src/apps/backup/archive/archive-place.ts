// Storage of an archive: a folder, or a bucket (`bucket-archive-place`). Paths are relative, with forward slashes.

export interface ArchivePlace {
  /** Name for people, as a prefix of paths. */
  readonly name: string;
  /** Creates the place if it does not exist. */
  make(): Promise<void>;
  isEmpty(): Promise<boolean>;
  has(path: string): Promise<boolean>;
  /** Returns the paths of all files. */
  files(): Promise<readonly string[]>;
  /** Yields the bytes of a file. @throws ServiceError `not_found` if it does not exist */
  read(path: string): AsyncIterable<Uint8Array>;
  /** Starts a new file, which appears only once it is closed. */
  create(path: string): Promise<ArchiveFile>;
  /** Writes a small file atomically, replacing an existing one. */
  write(path: string, text: string): Promise<void>;
  /** Removes a file, or everything below a path; does nothing if there is none. */
  remove(path: string): Promise<void>;
  /** Makes all changes so far durable, even on a power failure. */
  flush(): Promise<void>;
}

export interface ArchiveFile {
  write(bytes: Uint8Array): Promise<void>;
  close(): Promise<void>;
  /** Discards the file and frees its space; called instead of `close`. */
  abandon(): Promise<void>;
}

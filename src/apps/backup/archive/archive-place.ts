// Where an archive lies: a folder, or a bucket (`bucket-place`). Paths are relative, with forward slashes.

export interface ArchivePlace {
  /** For people: what a path is put behind. */
  readonly name: string;
  /** Makes it where it is not there. */
  make(): Promise<void>;
  isEmpty(): Promise<boolean>;
  has(path: string): Promise<boolean>;
  /** The paths of all files. */
  files(): Promise<readonly string[]>;
  /** The bytes of a file. @throws ServiceError `not_found` where there is none */
  read(path: string): AsyncIterable<Uint8Array>;
  /** Begins a file that is not there yet; it is there, whole, once it is closed. */
  create(path: string): Promise<ArchiveFile>;
  /** Puts a small file there, whole, in place of what is there. */
  write(path: string, text: string): Promise<void>;
  /** Removes a file, or all below a path; that there is none is no error. */
  remove(path: string): Promise<void>;
  /** What is there and what is gone stays so from here on, also where the power fails. */
  flush(): Promise<void>;
}

export interface ArchiveFile {
  write(bytes: Uint8Array): Promise<void>;
  close(): Promise<void>;
  /** Instead of `close`: it takes no more room. */
  abandon(): Promise<void>;
}

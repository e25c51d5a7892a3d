// Interface of a store of artifacts: large data that all servers on one database share, such as adapters, trainers'
// states and uploaded files. A key is a path such as `adapters/<model>/<step>`; keys below it are separate artifacts.
// The database, not the store, records which artifacts are needed and who may use them.
import type { Readable } from "node:stream";
import type { Seal } from "./seal.ts";

export interface ArtifactStore {
  /** Returns the id of this storage, the same for all servers that share it. The first call creates the id. */
  placeId(): Promise<string>;
  /**
   * Calls `write` with an empty folder, then atomically and durably stores the folder's files under the key. The files
   * replace everything at and below the key. If `write` throws, for example because it detects that its own output is
   * faulty, nothing is stored and the old artifact stays.
   *
   * @param options.mayPut called just before the artifact is moved into place; if it throws, nothing is stored
   */
  put<Result>(
    key: string,
    write: (folder: string) => Promise<Result>,
    options?: Pick<ArtifactWriter, "mayPut">,
  ): Promise<Result>;
  /** Stores a single file under a key. Like `put`, but `write` gets the path of a file instead of a folder. */
  putFile<Result>(key: string, write: (file: string) => Promise<Result>): Promise<Result>;
  /**
   * Returns a path on this machine to an artifact's folder or file; if there is no such artifact, a path that does not
   * exist. The path is valid until the artifact is removed; if files were fetched from a remote store, only for some
   * minutes. The folder may also contain the artifacts below the key.
   *
   * @param seal expected content; null to skip the check, which would read the files
   * @throws ServiceError `conflict` if the artifact differs from the seal or is missing
   */
  path(key: string, seal: Seal | null): Promise<string>;
  /**
   * Copies an artifact's files to a path on this machine, whose parent folder must exist. Later changes of the artifact
   * do not affect the copies. Callers must not write to the copies, which may
   * be incomplete if the artifact is removed meanwhile; checking a seal detects this.
   *
   * @returns false if there is no such artifact
   */
  copyTo(key: string, path: string): Promise<boolean>;
  /** Returns the path of an artifact whose files this machine already has; null if they would have to be fetched. */
  localPath(key: string): Promise<string | null>;
  /**
   * Opens an artifact's file for reading.
   *
   * @throws ServiceError `not_found`
   */
  open(key: string): Promise<Readable>;
  has(key: string): Promise<boolean>;
  /** Returns the names of the entries directly below a key. */
  names(key: string): Promise<readonly string[]>;
  /** Removes an artifact and everything below its key. A missing artifact is no error. */
  remove(key: string): Promise<void>;
  /** Removes unfinished writes at or below a key, which processes of this server left behind when they died. */
  removeUnfinished(key: string): Promise<void>;
  /**
   * Records that this server is responsible for everything at and below a key. Call it before removing these artifacts,
   * or before storing them if their owner is not in the database yet. If the server dies before `release`, {@link
   * sweepAbandoned} decides whether to remove them.
   */
  hold(key: string): Promise<void>;
  release(key: string): Promise<void>;
  /**
   * Removes unfinished writes of dead servers. Also removes artifacts that dead servers held (see `hold`), if these
   * artifacts have no owner, and returns their keys.
   *
   * @param among.isLive true if a server has a lease
   * @param among.isKnown true if a held artifact has an owner and must be kept
   */
  sweepAbandoned(among: {
    readonly isLive: (server: string) => Promise<boolean>;
    readonly isKnown: (key: string) => Promise<boolean>;
  }): Promise<readonly string[]>;
  /** Removes artifacts directly below a key that are older than a given time and have no owner; returns their keys. */
  sweep(
    key: string,
    among: { readonly olderThan: Date; readonly isKnown: (key: string) => Promise<boolean> },
  ): Promise<readonly string[]>;
}

/** The server that writes to a store. */
export interface ArtifactWriter {
  /** Returns the id of the server, whose lease protects its unfinished writes. */
  readonly server: () => string;
  /**
   * Called before any write, and again just before an artifact is moved into place. If it throws, nothing is stored.
   */
  readonly mayPut?: () => Promise<void>;
}

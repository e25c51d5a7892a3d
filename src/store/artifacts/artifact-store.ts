// Contract of a store of artifacts: large data shared by all servers on one database, such as adapters, trainers'
// states and uploaded files. A key is a path such as `adapters/<model>/<step>`; keys below it are separate artifacts.
// The store knows nothing of their meaning: the database records who needs and who may use them.
import type { Readable } from "node:stream";
import type { Seal } from "./seal.ts";

export interface ArtifactStore {
  /** Returns the unique id of this place, equal for all servers that share it; created on the first call. */
  placeId(): Promise<string>;
  /**
   * Calls `write` with an empty folder, then atomically stores its files under the key, even if the power fails. They
   * replace everything at and below the key. If `write` throws, the old artifact stays, so it may check its own
   * output.
   *
   * @param options.mayPut like the writer's
   */
  put<Result>(
    key: string,
    write: (folder: string) => Promise<Result>,
    options?: Pick<ArtifactWriter, "mayPut">,
  ): Promise<Result>;
  /** As `put`, for a single file. */
  putFile<Result>(key: string, write: (file: string) => Promise<Result>): Promise<Result>;
  /**
   * Returns a path on this machine to an artifact's folder or file. It stays valid until removal, or, if fetched from
   * a remote store, for some minutes; a missing artifact yields a path that does not exist. Artifacts below the key
   * may or may not be there.
   *
   * @param seal expected content; null skips the check and its reading
   * @throws ServiceError `conflict` if the artifact differs from the seal or is missing
   */
  path(key: string, seal: Seal | null): Promise<string>;
  /**
   * Copies an artifact's files to a path on this machine, whose folder exists; later changes of the artifact do not
   * affect them. Nobody may write to the copies. If the artifact is being removed, the copy may be incomplete, which a
   * seal detects.
   *
   * @returns false if there is no such artifact
   */
  copyTo(key: string, path: string): Promise<boolean>;
  /**
   * As `path`, if this machine already has the files; null if they would have to be fetched. Contacts no other
   * machine.
   */
  localPath(key: string): Promise<string | null>;
  /** Opens a file for reading. @throws ServiceError `not_found` */
  open(key: string): Promise<Readable>;
  has(key: string): Promise<boolean>;
  /** Returns the names directly below a key. */
  names(key: string): Promise<readonly string[]>;
  /** Removes an artifact with everything below it. A missing one is not an error. */
  remove(key: string): Promise<void>;
  /** Removes the unfinished writes of this server's dead processes at or below a key. */
  removeUnfinished(key: string): Promise<void>;
  /**
   * Marks everything below a key as held: this server is about to remove it, or has not yet recorded its owner. If the
   * server dies before `release`, {@link sweepAbandoned} decides.
   */
  hold(key: string): Promise<void>;
  release(key: string): Promise<void>;
  /**
   * Removes the unfinished writes of dead servers, and the artifacts they held that are unknown. Returns the keys of
   * those artifacts.
   *
   * @param among.isLive true if a server has a lease
   * @param among.isKnown true if a held artifact has an owner, which keeps it
   */
  sweepAbandoned(among: {
    readonly isLive: (server: string) => Promise<boolean>;
    readonly isKnown: (key: string) => Promise<boolean>;
  }): Promise<readonly string[]>;
  /** Removes unknown artifacts directly below a key that are older than a time. Returns their keys. */
  sweep(
    key: string,
    among: { readonly olderThan: Date; readonly isKnown: (key: string) => Promise<boolean> },
  ): Promise<readonly string[]>;
}

/** The server that writes to a store. */
export interface ArtifactWriter {
  /** Id of the server whose lease protects unfinished writes. */
  readonly server: () => string;
  /**
   * Called before anything is written, and just before the artifact is moved into place. If it throws, nothing is
   * stored.
   */
  readonly mayPut?: () => Promise<void>;
}

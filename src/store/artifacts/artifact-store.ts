// What is big, and shared by all servers on one database: adapters, trainers' states, uploaded files. The contract of whoever
// keeps it. A key is a path such as `adapters/<model>/<step>`; what lies below a key is an artifact of its own as well. Knows
// nothing of what an artifact means: who needs which, and who may use it, is the database's.
import type { Readable } from "node:stream";
import type { Seal } from "./seal.ts";

export interface ArtifactStore {
  /** What tells this place from every other: whoever shares artifacts finds the same. Made when it is first asked for. */
  placeId(): Promise<string>;
  /**
   * Has `write` fill an empty folder, and keeps its files under the key: whole or not at all, also where the power fails, in
   * place of what is there and below. What `write` throws leaves what was there, so it may check what it wrote.
   *
   * @param options.mayPut as the writer's
   */
  put<Result>(
    key: string,
    write: (folder: string) => Promise<Result>,
    options?: Pick<ArtifactWriter, "mayPut">,
  ): Promise<Result>;
  /** The same of a single file. */
  putFile<Result>(key: string, write: (file: string) => Promise<Result>): Promise<Result>;
  /**
   * Where this machine reads the files that were put, or the file: until it is removed, or from a store elsewhere for some
   * minutes. Whether what lies below the key is there too depends on the store. Nothing is there where there is no such
   * artifact: who reads it hears of that.
   *
   * @param seal what it has to be; null asks for nothing, and costs no reading
   * @throws ServiceError `conflict` for another one than sealed, or none
   */
  path(key: string, seal: Seal | null): Promise<string>;
  /**
   * Puts the files of an artifact at a path of this machine, whose folder exists: they stay as they are now, whatever becomes of
   * the artifact. Nobody may write to them. Of one that is being removed a part may come: a seal tells.
   *
   * @returns false where there is no such artifact
   */
  copyTo(key: string, path: string): Promise<boolean>;
  /** The same, where this machine has it already; null where it would have to be fetched. Asks no other machine. */
  localPath(key: string): Promise<string | null>;
  /** The bytes of a file. @throws ServiceError `not_found` */
  open(key: string): Promise<Readable>;
  has(key: string): Promise<boolean>;
  /** The names right below a key. */
  names(key: string): Promise<readonly string[]>;
  /** Removes an artifact with all below it; one that is gone is no error. */
  remove(key: string): Promise<void>;
  /** Removes what processes of this server that have died had not finished under a key, and below. */
  removeUnfinished(key: string): Promise<void>;
  /**
   * Says that what is below a key stays only if it is released: this server is about to remove it, or has not stored yet
   * whose it is. Should the server die, {@link sweepAbandoned} decides.
   */
  hold(key: string): Promise<void>;
  release(key: string): Promise<void>;
  /**
   * Removes what servers that are gone had not finished, and what they held that nobody knows; returns the keys of that.
   *
   * @param among.isLive whether a server has a lease
   * @param among.isKnown whether what was held is somebody's, who keeps it
   */
  sweepAbandoned(among: {
    readonly isLive: (server: string) => Promise<boolean>;
    readonly isKnown: (key: string) => Promise<boolean>;
  }): Promise<readonly string[]>;
  /** Removes what is right below a key, was put there before a time, and is not known; returns its keys. */
  sweep(
    key: string,
    among: { readonly olderThan: Date; readonly isKnown: (key: string) => Promise<boolean> },
  ): Promise<readonly string[]>;
}

/** Whose artifacts a store puts there. */
export interface ArtifactWriter {
  /** The server whose lease what is not finished goes by. */
  readonly server: () => string;
  /** Called before anything is written, and just before it is put in its place; what it throws keeps it from there. */
  readonly mayPut?: () => Promise<void>;
}

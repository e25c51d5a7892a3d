// Contract of data retention. There are limits by age, by bytes of an entity, and by number of items of a model. Data
// that is still needed is kept regardless of the limits; the description of each kind says which data that is.

/**
 * Kinds of data that retention removes.
 * * `trajectories`: logged trajectories, except those of a model's newest log, whose running sums the next log
 *   continues.
 * * `jobs`: training data of jobs that have ended, and their events except the last. Jobs that another job repeats or
 *   retries, and jobs with a pinned version, are kept.
 * * `recordings`: recorded completions, except those in an annotation queue that still wait for answers, and those
 *   that an automatic rule is about to train on.
 * * `revisions`: the history of feedback.
 */
export const keptKinds = ["trajectories", "jobs", "recordings", "revisions"] as const;

export type KeptKind = (typeof keptKinds)[number];

/**
 * Kinds that count towards an entity's quota: the kinds above, payloads of feedback, uploaded files, and files of
 * traces.
 */
export const storedKinds = [...keptKinds, "feedback", "files", "traces"] as const;

export type StoredKind = (typeof storedKinds)[number];

/** Limits of one kind. A null field means no limit. */
export interface KeepLimits {
  /** Data older than this time is removed. */
  readonly before: Date | null;
  /** Maximum number of bytes of an entity; the newest data is kept. */
  readonly entityBytes: number | null;
  /** Maximum number of items of a model, of which the newest are kept; applies only to recordings. */
  readonly modelCount: number | null;
}

export interface RemovedData {
  readonly entity: string;
  /** Number of removed logs, jobs, completions or revisions. */
  readonly itemCount: number;
  /**
   * Number of bytes that only the removed items used. Content that several completions share counts when the last of
   * them is removed.
   */
  readonly byteCount: number;
}

/** Position at which the next step of a sweep continues. */
export interface SweepPlace {
  readonly scope: "age" | "entity" | "model";
  /** Current entity or model; empty while sweeping by age. */
  readonly of: string;
  /** Last item that was visited; null at the beginning. */
  readonly after: readonly (string | number)[] | null;
  /**
   * Data that earlier steps of a dry run counted as removed: bytes of each entity, number of items of each model, and
   * the number of each entity's last counted item. Empty if data is really removed.
   */
  readonly gone: ReadonlyMap<string, number>;
}

export interface SweepStep {
  /** At most one entry for each entity. */
  readonly removed: readonly RemovedData[];
  /** Position of the next step; null if the sweep is complete. */
  readonly next: SweepPlace | null;
}

/** Data of an entity that was removed on one day. */
export interface RemovedOfDay extends RemovedData {
  /** `YYYY-MM-DD`, UTC. */
  readonly day: string;
  readonly kind: KeptKind;
  readonly lastAt: Date;
}

export interface RetentionStore {
  /**
   * Makes this server the sweeper until the given time. Returns false if another server is the sweeper and its lease
   * has not expired.
   */
  claim(owner: string, at: Date, until: Date): Promise<boolean>;
  /** Ends this server's role as the sweeper. Has no effect if this server does not have the role. */
  release(owner: string): Promise<void>;
  /**
   * Visits some stored items, oldest first, and removes those that exceed the limits, in a short transaction. Large
   * content of removed items can no longer be read; {@link RetentionStore.clear} frees its space.
   *
   * @param options.from `next` of the previous step; null for the first step
   * @param options.isDry true to remove nothing and only report
   */
  sweep(
    kind: KeptKind,
    limits: KeepLimits,
    options: { readonly from: SweepPlace | null; readonly isDry: boolean; readonly at: Date },
  ): Promise<SweepStep>;
  /** Deletes some of the rows that contain the content of removed items. Returns false if no such rows are left. */
  clear(): Promise<boolean>;
  /** Returns removed data by day, newest day first, then by kind and entity. @param limit at most 1000 */
  removed(entity: string | null, limit: number): Promise<readonly RemovedOfDay[]>;
  /** Returns the stored bytes of an entity, or of all entities, by kind. */
  stored(entity: string | null): Promise<Readonly<Record<StoredKind, number>>>;
}

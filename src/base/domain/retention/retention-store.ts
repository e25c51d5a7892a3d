// Contract of data retention. Limits are by age, by an entity's bytes, and by a model's number of items. Data that is
// still needed is kept regardless of the limits; see {@link keptKinds}.

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
 * Kinds of data that count towards an entity's quota: the kinds above, payloads of feedback, uploaded files, and files
 * of traces.
 */
export const storedKinds = [...keptKinds, "feedback", "files", "traces"] as const;

export type StoredKind = (typeof storedKinds)[number];

/** Limits for one kind of data. Null means that there is no such limit. */
export interface KeepLimits {
  /** Time before which data is too old and is removed. */
  readonly before: Date | null;
  /** Maximum number of bytes of an entity. Beyond it, the oldest data is removed. */
  readonly entityBytes: number | null;
  /** Maximum number of recordings of a model. Beyond it, the oldest are removed. Not used for other kinds of data. */
  readonly modelCount: number | null;
}

export interface RemovedData {
  readonly entity: string;
  /** Number of removed logs, jobs, completions or revisions. */
  readonly itemCount: number;
  /**
   * Number of bytes that the removal frees. Content that several completions use counts when the last of these
   * completions is removed.
   */
  readonly byteCount: number;
}

/** Position at which the next step of a sweep continues. */
export interface SweepPlace {
  readonly scope: "age" | "entity" | "model";
  /** Entity or model that the sweep is visiting; empty while it sweeps by age. */
  readonly of: string;
  /** Key of the last item that the sweep visited; null at the beginning. */
  readonly after: readonly (string | number)[] | null;
  /**
   * Data that earlier steps of a dry run counted as removed: bytes per entity, items per model, and for each entity the
   * number of the last such item. Empty if the sweep really removes data.
   */
  readonly gone: ReadonlyMap<string, number>;
}

export interface SweepStep {
  /** Removed data, with at most one entry for each entity. */
  readonly removed: readonly RemovedData[];
  /** Position at which the next step continues; null if the sweep is complete. */
  readonly next: SweepPlace | null;
}

/** Data of one entity that was removed on one day. */
export interface RemovedOfDay extends RemovedData {
  /** Day in UTC, as `YYYY-MM-DD`. */
  readonly day: string;
  readonly kind: KeptKind;
  readonly lastAt: Date;
}

export interface RetentionStore {
  /**
   * Gives this server the exclusive right to sweep until the given time. Returns false if another server has this right
   * until a later time than `at`.
   */
  claim(owner: string, at: Date, until: Date): Promise<boolean>;
  /** Ends this server's right to sweep. Does nothing if it does not have the right. */
  release(owner: string): Promise<void>;
  /**
   * Visits some stored items, oldest first, and removes those that exceed the limits, in a short transaction. Large
   * content of removed items can no longer be read, but takes space until {@link RetentionStore.clear}.
   *
   * @param options.from `next` of the previous step; null for the first step
   * @param options.isDry true to remove nothing and only report
   */
  sweep(
    kind: KeptKind,
    limits: KeepLimits,
    options: { readonly from: SweepPlace | null; readonly isDry: boolean; readonly at: Date },
  ): Promise<SweepStep>;
  /**
   * Deletes some of the rows that contain the content of removed items, which frees space. Returns false if no such
   * rows are left.
   */
  clear(): Promise<boolean>;
  /**
   * Returns the data that was removed, by day, newest day first, then by kind and entity.
   *
   * @param limit at most 1000
   */
  removed(entity: string | null, limit: number): Promise<readonly RemovedOfDay[]>;
  /**
   * Returns the number of stored bytes, by kind of data.
   *
   * @param entity null for all entities together
   */
  stored(entity: string | null): Promise<Readonly<Record<StoredKind, number>>>;
}

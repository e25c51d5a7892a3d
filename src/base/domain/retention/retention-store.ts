// Contract of data retention: limits by age, by bytes of an entity, and by number for each model. Data that is still
// needed is kept regardless of limits; each kind defines which data that is.

/**
 * * `trajectories`: logged trajectories, except those of a model's newest log, from which its running sums continue.
 * * `jobs`: training data of jobs that have ended, and their events except the last. Jobs that another job repeats or
 *   retries, and jobs with a pinned version, are kept.
 * * `recordings`: recorded completions, except those waiting in an annotation queue or about to train by an automatic
 *   rule.
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

/** Limits of one kind; null fields set no limit. */
export interface KeepLimits {
  /** Older data is removed. */
  readonly before: Date | null;
  /** The newest data of an entity up to this many bytes is kept. */
  readonly entityBytes: number | null;
  /** The newest items of a model up to this number are kept; only for recordings. */
  readonly modelCount: number | null;
}

export interface RemovedData {
  readonly entity: string;
  /** Logs, jobs, completions or revisions. */
  readonly itemCount: number;
  /** Bytes that only the removed items used. Shared content of completions is added once its last user is removed. */
  readonly byteCount: number;
}

/** Position at which a sweep continues. */
export interface SweepPlace {
  readonly scope: "age" | "entity" | "model";
  /** Entity or model; empty while sweeping by age. */
  readonly of: string;
  /** Last item that was visited; null at the beginning. */
  readonly after: readonly (string | number)[] | null;
  /** For a dry run: what it would have removed so far, in bytes by entity and numbers by model. */
  readonly gone: ReadonlyMap<string, number>;
}

export interface SweepStep {
  /** At most one entry for each entity. */
  readonly removed: readonly RemovedData[];
  /** Null at the end. */
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
   * Makes this server the sweeper until the given time; false if another server is the sweeper and its lease has not
   * expired.
   */
  claim(owner: string, at: Date, until: Date): Promise<boolean>;
  /** Gives the role of sweeper back. No error if this server does not have it. */
  release(owner: string): Promise<void>;
  /**
   * Visits some stored items, oldest first, and removes those beyond the limits in a short transaction. Large content
   * is unreachable from then on; {@link RetentionStore.clear} frees its space.
   *
   * @param options.from `next` of the previous step; null for the first
   * @param options.isDry removes nothing
   */
  sweep(
    kind: KeptKind,
    limits: KeepLimits,
    options: { readonly from: SweepPlace | null; readonly isDry: boolean; readonly at: Date },
  ): Promise<SweepStep>;
  /** Deletes some rows of removed items; false if none are left. */
  clear(): Promise<boolean>;
  /** Returns removals, newest day first, then by kind and entity. @param limit at most 1000 */
  removed(entity: string | null, limit: number): Promise<readonly RemovedOfDay[]>;
  /** Returns the stored bytes of an entity, or of all entities, by kind. */
  stored(entity: string | null): Promise<Readonly<Record<StoredKind, number>>>;
}

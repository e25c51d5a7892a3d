// What is let go of what is stored, and of whom: by age, by an entity's bytes, by a model's number. What is still needed stays
// whatever the limits say, and each kind says what that is.

/**
 * `trajectories` are those that were logged, but for a model's newest log, which its running sums go on from. `jobs` are what
 * jobs that have ended trained on, with their events but the last; not for jobs that another one repeats or tries again, or
 * whose version is pinned. `recordings` are recorded completions, but those that an annotation queue has to do or a standing
 * rule is about to train on. `revisions` is the history of feedback.
 */
export const keptKinds = ["trajectories", "jobs", "recordings", "revisions"] as const;

export type KeptKind = (typeof keptKinds)[number];

/** What counts of an entity: those, the payloads of its feedback, its uploaded files, and those of its traces. */
export const storedKinds = [...keptKinds, "feedback", "files", "traces"] as const;

export type StoredKind = (typeof storedKinds)[number];

/** How much of a kind stays; what is null sets no limit. */
export interface KeepLimits {
  /** What is from before goes. */
  readonly before: Date | null;
  /** Of an entity the newest so many bytes stay. */
  readonly entityBytes: number | null;
  /** Of a model the newest so many stay; of recordings alone. */
  readonly modelCount: number | null;
}

export interface RemovedData {
  readonly entity: string;
  /** Logs, jobs, completions or revisions. */
  readonly itemCount: number;
  /** Of what is theirs alone; what completions share with others comes on top where nobody is left to share it. */
  readonly byteCount: number;
}

/** Where a sweep goes on. */
export interface SweepPlace {
  readonly scope: "age" | "entity" | "model";
  /** The entity or the model; empty for what goes by age. */
  readonly of: string;
  /** Behind what was looked at; null at the beginning. */
  readonly after: readonly (string | number)[] | null;
  /** Of a sweep that removes nothing: what it would have removed, bytes by entity and numbers by model. */
  readonly gone: ReadonlyMap<string, number>;
}

export interface SweepStep {
  /** At most one for each entity. */
  readonly removed: readonly RemovedData[];
  /** Null at the end. */
  readonly next: SweepPlace | null;
}

/** What was removed of an entity on a day. */
export interface RemovedOfDay extends RemovedData {
  /** `YYYY-MM-DD`, UTC's. */
  readonly day: string;
  readonly kind: KeptKind;
  readonly lastAt: Date;
}

export interface RetentionStore {
  /** Whether this server is the one that sweeps until then: nobody else is, or their time is over. */
  claim(owner: string, at: Date, until: Date): Promise<boolean>;
  /** Lets others sweep; that it was not the one is no error. */
  release(owner: string): Promise<void>;
  /**
   * Looks at some of what is stored, the oldest first, and removes what does not stay, in a short transaction. What is large
   * is no longer there from then on, and its room is free after {@link RetentionStore.clear}.
   *
   * @param options.from `next` of the step before; null for the first
   * @param options.isDry nothing is removed
   */
  sweep(
    kind: KeptKind,
    limits: KeepLimits,
    options: { readonly from: SweepPlace | null; readonly isDry: boolean; readonly at: Date },
  ): Promise<SweepStep>;
  /** Deletes some rows of what was removed; false where there are none left. */
  clear(): Promise<boolean>;
  /** The newest days first, then by kind and entity. @param limit at most 1000 */
  removed(entity: string | null, limit: number): Promise<readonly RemovedOfDay[]>;
  /** The bytes that are stored of an entity, or of all, by kind. */
  stored(entity: string | null): Promise<Readonly<Record<StoredKind, number>>>;
}

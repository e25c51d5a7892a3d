// Rollout sessions: calls of a model that belong to one attempt of an agent at a task, and the reward of the attempt.
// The calls themselves are recorded completions that name the rollout.
import type { Page, PageRequest } from "../page.ts";
import type { CreatingRule } from "../rewards/training-source.ts";
import type { Json, JsonObject } from "../text/json.ts";

export const rolloutStates = ["open", "finished", "cancelled", "expired"] as const;
/** A rollout is open until someone finishes or cancels it, or its time is up. */
export type RolloutState = (typeof rolloutStates)[number];

/** Permission to call the model of a rollout. Every call with it belongs to the rollout. */
export interface RolloutPass {
  readonly id: string;
  readonly modelId: string;
  /** Version that answers all calls; null if the newest version answers each call. */
  readonly pinnedStep: number | null;
}

export interface NewRollout extends RolloutPass {
  readonly entity: string;
  /** Newest version at the time of the rollout's creation, or the version that was asked for. */
  readonly step: number;
  /** Name of the group whose rewards are compared; null if all rollouts of the same task form a group. */
  readonly group: string | null;
  readonly split: string;
  readonly task: Json;
  readonly metadata: JsonObject;
  /** Key that created the rollout. Its limits apply to the rollout's calls, and its usage includes them. */
  readonly keyId: string;
  readonly owner: string;
  /** SHA-256 of the rollout's own key in lower-case hexadecimal. */
  readonly secretHash: string;
  readonly createdAt: Date;
  readonly expiresAt: Date;
}

/** Result of a rollout. */
export interface RolloutOutcome {
  readonly reward: number;
  readonly metrics: Readonly<Record<string, number | boolean>>;
  /** Rewards of single calls, by request id. Such a call is an attempt of its own. */
  readonly callRewards: Readonly<Record<string, number>>;
}

export interface Rollout extends NewRollout {
  readonly state: RolloutState;
  /** Time at which the rollout was finished or cancelled, or expired; null while it is open. */
  readonly endedAt: Date | null;
  /** Null unless the rollout is finished. */
  readonly outcome: RolloutOutcome | null;
  readonly callCount: number;
  /** Number of prompt and answer tokens of all calls. */
  readonly tokenCount: number;
  /** Newest version that answered a call; null before the first call. */
  readonly lastStep: number | null;
  /** Job that trains or has trained on the rollout; null if there is none, or it failed or was cancelled. */
  readonly jobId: string | null;
}

/** Rollouts of a model. Fields that are null match all rollouts. */
export interface RolloutFilter {
  readonly modelId: string;
  readonly state: RolloutState | null;
  readonly group: string | null;
  readonly split: string | null;
  /** Version at the time of the rollout's creation. */
  readonly step: number | null;
}

/** Rollouts to train on. */
export interface RolloutChoice {
  readonly modelId: string;
  /** Ids of the rollouts to use; null for all rollouts that match the other fields. */
  readonly ids: readonly string[] | null;
  readonly group: string | null;
  readonly split: string | null;
  readonly step: number | null;
  /** Minimum version at the time of creation. */
  readonly stepMin: number;
  /** True to use expired rollouts too. */
  readonly includesExpired: boolean;
  /**
   * Uses only whole groups: those with at least this many matching rollouts, none of them open. Null for all groups.
   */
  readonly wholeSizeMin: number | null;
}

/** A group of rollouts whose rewards are compared with each other. */
export interface RolloutGroup {
  readonly key: string;
  readonly rollouts: readonly Rollout[];
}

/** Rollouts from which a job is created. They are stored in the transaction that creates the job. */
export interface RolloutOrigin {
  readonly rolloutIds: readonly string[];
  /** Automatic rule that created the job; null if no rule did. */
  readonly standing: CreatingRule | null;
}

export interface RolloutStore {
  /**
   * Stores an open rollout.
   *
   * @throws ServiceError `overloaded` if the entity has `openMax` open rollouts; `not_found` if the model was deleted
   */
  create(rollout: NewRollout, limits: { readonly openMax: number }): Promise<void>;
  find(id: string, now: Date): Promise<Rollout | null>;
  /** Finds the rollout whose key has this hash, even if the rollout has ended. */
  findByHash(secretHash: string, now: Date): Promise<Rollout | null>;
  /** Returns rollouts in the order of their creation. */
  list(filter: RolloutFilter, page: PageRequest, now: Date): Promise<Page<Rollout>>;
  /**
   * Ends a rollout that nobody has ended. A rollout that expired can still be finished until a job trains on it.
   *
   * @returns false if the rollout has already been ended, or a job trains on it
   */
  end(id: string, end: { readonly at: Date; readonly outcome: RolloutOutcome | null }): Promise<boolean>;
  /**
   * Returns the groups that match and that no job trains on yet, the oldest first.
   *
   * @returns at most `groupsMax` groups, and whether there are more
   */
  groups(
    choice: RolloutChoice,
    limits: { readonly groupsMax: number; readonly rolloutsMax: number },
    now: Date,
  ): Promise<{ readonly groups: readonly RolloutGroup[]; readonly hasMore: boolean }>;
  /**
   * Deletes the oldest rollouts that ended before a time, except those of queued and running jobs.
   *
   * @returns the number of deleted rollouts, at most `limit`
   */
  deleteEnded(before: Date, limit: number): Promise<number>;
  /** Counts all groups that match (without the limit of `groups`), and how many of them are whole. */
  countGroups(choice: RolloutChoice, now: Date): Promise<{ readonly all: number; readonly whole: number }>;
}

/** Returns the key of a rollout's group: its name, or the task if the rollout has no group. */
export function groupKeyOf(
  { group, task }: Pick<NewRollout, "group" | "task">,
  hash: (text: string) => string,
) {
  return group === null ? `task:${hash(JSON.stringify(task))}` : `group:${group}`;
}

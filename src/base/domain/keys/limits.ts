// Limits of a key, and limits of all keys of an entity together. Also how the servers on one database count usage
// together.
import { type FieldValues, integer, orNull } from "../resources/fields.ts";
import { ServiceError } from "../service-error.ts";

function limit(maximum: number, about: string) {
  const row = {
    minimum: 1,
    maximum,
    about: `${about}. Null sets no limit.`,
    aboutShown: `${about}; null if none is set.`,
  };
  return { ...orNull(integer(row)), maximum };
}

export const limitFields = {
  requestsPerMinute: limit(1_000_000_000, "Maximum number of requests to models per minute"),
  tokensPerMinute: limit(1_000_000_000, "Maximum number of prompt and answer tokens per minute"),
  concurrentRequests: limit(1_000_000, "Maximum number of requests to models that run at the same time"),
  queuePercent: limit(100, "Maximum share of a model's request queue on a server, in percent"),
  queuedJobs: limit(1_000_000, "Maximum number of queued training jobs"),
};

/** Values of the limits; null means no limit. */
export type KeyLimits = FieldValues<typeof limitFields>;

// Safe cast: the fields are the limits.
export const limitNames = Object.keys(limitFields) as readonly (keyof KeyLimits)[];

// Safe cast: every limit is set to null.
export const noLimits = Object.fromEntries(limitNames.map((name) => [name, null])) as unknown as KeyLimits;

/** Subject of limits: `key:<id>` or `entity:<name>`. */
export type LimitSubject = `key:${string}` | `entity:${string}`;

/** Key or entity with limits. */
export interface Limited {
  readonly subject: LimitSubject;
  /** Name for people: `This key`, `The entity "acme"`. */
  readonly name: string;
  readonly limits: KeyLimits;
}

export type RateKind = "requests" | "tokens";

/** Usage of a per-minute limit. */
export interface RateStanding {
  readonly limit: number;
  readonly remaining: number;
  /** Seconds until usage is zero if no other request arrives. */
  readonly resetSeconds: number;
}

/**
 * For each kind of per-minute limit, the usage of the limit that has least left; null if there is no limit of this
 * kind.
 */
export type RateStandings = { readonly [Kind in RateKind]: RateStanding | null };

/** Error for a reached limit. */
export class LimitRefusal extends ServiceError {
  readonly standings: RateStandings;

  constructor(options: {
    readonly message: string;
    readonly retryAfterSeconds: number;
    readonly standings: RateStandings;
  }) {
    super({ code: "overloaded", message: options.message, retryAfterSeconds: options.retryAfterSeconds });
    this.standings = options.standings;
  }
}

/** Permission for one request to use resources, from its admission to its end. */
export interface Allowance {
  readonly standings: RateStandings;
  /**
   * Reserves tokens before they are used: the tokens of the prompt, plus the maximum number of answer tokens if the
   * request states one. A reservation that exceeds the limit itself is granted if nothing else is used.
   *
   * @throws LimitRefusal
   */
  reserve(tokens: number): TokenReservation;
  /**
   * Counts the request among those that wait for a model on this server. A request may wait for several models at the
   * same time.
   *
   * @returns an idempotent function that ends the wait
   * @throws LimitRefusal if `waitingCountMax` requests wait already
   */
  wait(model: string, waitingCountMax: number): () => void;
  /** Ends the request. Idempotent. */
  leave(): void;
}

export interface TokenReservation {
  /** Reports the total number of tokens used so far. Tokens above the reservation count from this call on. */
  use(tokens: number): void;
  /** Releases the unused part of the reservation. Idempotent. */
  settle(): void;
}

export interface RateCounts {
  readonly requests: number;
  readonly tokens: number;
}

/** Counts of a subject in a slot of {@link slotSeconds} seconds; negative if tokens were released. */
export interface SlotCounts extends RateCounts {
  readonly subject: LimitSubject;
  /** Number of the slot since 1970 (UTC). */
  readonly slot: number;
}

export const slotSeconds = 10;

/** Number of running requests of a subject on a server. */
export interface RunningCount {
  readonly subject: LimitSubject;
  readonly count: number;
}

export interface LimitStore {
  /** Returns the limits that are set for the entity; null for each limit that is not set. */
  findEntityLimits(entity: string): Promise<KeyLimits>;
  /** Changes the named limits; null removes one. @returns the limits after the change */
  changeEntityLimits(entity: string, limits: Partial<KeyLimits>): Promise<KeyLimits>;
  /** True if other servers may count usage in the same database. */
  readonly isShared: boolean;
  /**
   * Adds a server's counts, replaces its number of running requests, and reads the totals of all servers, in one
   * transaction. If two servers add to the same slot of a key or entity at the same time, at least one of them reads
   * the other's counts.
   */
  exchange(asked: {
    /** Id of the server. Its running requests count until its lease expires. */
    readonly serverId: string;
    /** Counts to add; each pair of subject and slot at most once. */
    readonly slots: readonly SlotCounts[];
    /** Numbers of running requests, which replace those that the server reported before. */
    readonly running: readonly RunningCount[];
    /** Subjects to read: their counts since `sinceSlot`, and the number of their requests running on other servers. */
    readonly subjects: readonly LimitSubject[];
    readonly sinceSlot: number;
    readonly now: Date;
  }): Promise<{ readonly slots: readonly SlotCounts[]; readonly othersRunning: readonly RunningCount[] }>;
  /** Deletes the counts of all slots before this one. */
  sweepSlots(before: number): Promise<void>;
}

// Limits of a key, and limits of all keys of an entity together. Also the contract by which the servers on one database
// count usage together.
import { type FieldValues, integer, orNull } from "../resources/fields.ts";
import { ServiceError } from "../service-error.ts";

function limit(maximum: number, about: string) {
  const row = {
    minimum: 1,
    maximum,
    about: `${about}. Null: no such limit is set.`,
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

/** Value of each limit; null means no limit. */
export type KeyLimits = FieldValues<typeof limitFields>;

// Safe cast: the fields are named after the limits.
export const limitNames = Object.keys(limitFields) as readonly (keyof KeyLimits)[];

// Safe cast: the object has every limit, with the value null.
export const noLimits = Object.fromEntries(limitNames.map((name) => [name, null])) as unknown as KeyLimits;

/** Key or entity to which limits apply, as `key:<id>` or `entity:<name>`. */
export type LimitSubject = `key:${string}` | `entity:${string}`;

/** A key or an entity, with its limits. */
export interface Limited {
  readonly subject: LimitSubject;
  /** Name in messages, such as `This key` or `The entity "acme"`. */
  readonly name: string;
  readonly limits: KeyLimits;
}

export type RateKind = "requests" | "tokens";

/** State of a limit per minute. */
export interface RateStanding {
  readonly limit: number;
  readonly remaining: number;
  /** Number of seconds until the usage is zero, if no other request arrives. */
  readonly resetSeconds: number;
}

/**
 * For requests and for tokens, the state of the limit per minute that is closest to being reached; null if there is no
 * such limit.
 */
export type RateStandings = { readonly [Kind in RateKind]: RateStanding | null };

/** Error for a request that would exceed a limit. */
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

/** Permission of one request to use resources, from its admission to its end. */
export interface Allowance {
  readonly standings: RateStandings;
  /**
   * Reserves tokens before they are used: those of the prompt, and the maximum number of answer tokens if the request
   * states one. If a request needs more than the whole limit, it is granted once no other usage counts.
   *
   * @throws LimitRefusal if the reservation exceeds a limit
   */
  reserve(tokens: number): TokenReservation;
  /**
   * Counts the request among those that wait for a model on this server. A request may wait for several models at the
   * same time.
   *
   * @returns an idempotent function that ends the wait
   * @throws LimitRefusal if the key or entity has too many waiting requests
   * @param waitingCountMax maximum number of requests that wait for the model; one key may have a percentage of these
   */
  wait(model: string, waitingCountMax: number): () => void;
  /** Ends the request's use of resources. Idempotent. */
  leave(): void;
}

export interface TokenReservation {
  /**
   * Reports the total number of tokens that the request has used. Tokens above the reservation count from this call on.
   */
  use(tokens: number): void;
  /** Releases the reserved tokens that were not used. Idempotent. */
  settle(): void;
}

export interface RateCounts {
  readonly requests: number;
  readonly tokens: number;
}

/**
 * Counts of a key or entity in one time slot of {@link slotSeconds} seconds. Negative if tokens of a reservation were
 * released.
 */
export interface SlotCounts extends RateCounts {
  readonly subject: LimitSubject;
  /** Number of the time slot; slot 0 begins with the year 1970 in UTC. */
  readonly slot: number;
}

export const slotSeconds = 10;

/** Number of running requests of a key or entity on one server. */
export interface RunningCount {
  readonly subject: LimitSubject;
  readonly count: number;
}

export interface LimitStore {
  /** Returns the limits that an administrator has set for the entity. Limits that are not set are null. */
  findEntityLimits(entity: string): Promise<KeyLimits>;
  /**
   * Changes the named limits of an entity; null removes a limit.
   *
   * @returns the limits after the change
   */
  changeEntityLimits(entity: string, limits: Partial<KeyLimits>): Promise<KeyLimits>;
  /** True if other servers may count usage in this database, too. */
  readonly isShared: boolean;
  /**
   * Adds a server's counts, replaces its number of running requests, and reads the totals of all servers, in one
   * transaction. If two servers add to the same slot of a key or entity at the same time, at least one of them reads
   * the other's counts.
   */
  exchange(asked: {
    /** Id of the server that exchanges counts. Its running requests count until its lease expires. */
    readonly serverId: string;
    /** Counts to add: at most one entry for each pair of a subject (a key or entity) and a time slot. */
    readonly slots: readonly SlotCounts[];
    /** Numbers of running requests. They replace the numbers that the server has stored before. */
    readonly running: readonly RunningCount[];
    /** Keys and entities to read: their counts since `sinceSlot`, and the number of their requests on other servers. */
    readonly subjects: readonly LimitSubject[];
    readonly sinceSlot: number;
    readonly now: Date;
  }): Promise<{ readonly slots: readonly SlotCounts[]; readonly othersRunning: readonly RunningCount[] }>;
  /** Deletes the counts of all slots with a lower number. */
  sweepSlots(before: number): Promise<void>;
}

// How much a key, or all keys of an entity together, may ask for, and how servers of one database count it together.
import { type FieldValues, integer, orNull } from "../resources/fields.ts";
import { ServiceError } from "../service-error.ts";

function limit(maximum: number, about: string) {
  const row = { minimum: 1, maximum, about: `${about} Null: no limit.`, aboutShown: about };
  return { ...orNull(integer(row)), maximum };
}

export const limitFields = {
  requestsPerMinute: limit(1_000_000_000, "Requests to models per minute."),
  tokensPerMinute: limit(1_000_000_000, "Tokens of prompts and answers per minute."),
  concurrentRequests: limit(1_000_000, "Requests to models in progress at the same time."),
  queuePercent: limit(100, "Share of the requests that may wait for a model on a server, in percent."),
  queuedJobs: limit(1_000_000, "Training jobs in the queue."),
};

/** Each is null if there is no limit. */
export type KeyLimits = FieldValues<typeof limitFields>;

// Safe cast: the fields are the limits.
export const limitNames = Object.keys(limitFields) as readonly (keyof KeyLimits)[];

// Safe cast: null for each limit.
export const noLimits = Object.fromEntries(limitNames.map((name) => [name, null])) as unknown as KeyLimits;

/** Whom limits are of: `key:<id>` or `entity:<name>`. */
export type LimitSubject = `key:${string}` | `entity:${string}`;

/** A key or an entity that has limits. */
export interface Limited {
  readonly subject: LimitSubject;
  /** For people: `This key`, `The entity "acme"`. */
  readonly name: string;
  readonly limits: KeyLimits;
}

export type RateKind = "requests" | "tokens";

/** Where a request stands with a limit of a minute. */
export interface RateStanding {
  readonly limit: number;
  readonly remaining: number;
  /** Seconds until nothing counts any more, if nothing else comes. */
  readonly resetSeconds: number;
}

/** By the limit that leaves least; null where there is none. */
export type RateStandings = { readonly [Kind in RateKind]: RateStanding | null };

/** A limit is reached. */
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

/** What their limits leave a request, from when it was let in to its end. */
export interface Allowance {
  readonly standings: RateStandings;
  /**
   * Counts tokens before they are used: those of the prompt, and as many of the answer as it may have where the request says
   * so. What is more than a limit alone fits as soon as nothing else counts.
   *
   * @throws LimitRefusal
   */
  reserve(tokens: number): TokenReservation;
  /**
   * That the request waits for a model, for which so many may wait on this server; a request may do so several times at once.
   *
   * @returns what is to be called when it waits no longer; calling it twice is harmless
   * @throws LimitRefusal
   */
  wait(model: string, waitingCountMax: number): () => void;
  /** To be called when the request is over; calling it twice is harmless. */
  leave(): void;
}

export interface TokenReservation {
  /** That so many were used by now, in all: what is more than was reserved counts from now on. */
  use(tokens: number): void;
  /** Gives back what was reserved and not used; calling it twice is harmless. */
  settle(): void;
}

export interface RateCounts {
  readonly requests: number;
  readonly tokens: number;
}

/** What was counted of a subject in a slot of time, {@link slotSeconds} long; less than 0 where it was given back. */
export interface SlotCounts extends RateCounts {
  readonly subject: LimitSubject;
  /** Whole slots since 1970, UTC. */
  readonly slot: number;
}

export const slotSeconds = 10;

/** How many requests of a subject run on a server. */
export interface RunningCount {
  readonly subject: LimitSubject;
  readonly count: number;
}

export interface LimitStore {
  /** The entity's own; null for what it has no limit of its own of. */
  findEntityLimits(entity: string): Promise<KeyLimits>;
  /** What is named changes; null takes a limit away. @returns those after */
  changeEntityLimits(entity: string, limits: Partial<KeyLimits>): Promise<KeyLimits>;
  /** Whether other servers may count beside this one. */
  readonly isShared: boolean;
  /**
   * Adds what a server counted and says how many requests run there, and reads what all servers have then, in one
   * transaction. Of two that add to the same slot of a subject at once, one reads what the other added.
   */
  exchange(asked: {
    /** Its lease: what runs there counts as long as that lasts. */
    readonly serverId: string;
    /** What is added, of each subject and slot at most once. */
    readonly slots: readonly SlotCounts[];
    /** In place of what it said before. */
    readonly running: readonly RunningCount[];
    /** Whose counts are read, from a slot on, and their requests that run on the other servers. */
    readonly subjects: readonly LimitSubject[];
    readonly sinceSlot: number;
    readonly now: Date;
  }): Promise<{ readonly slots: readonly SlotCounts[]; readonly othersRunning: readonly RunningCount[] }>;
  /** Deletes what was counted before a slot. */
  sweepSlots(before: number): Promise<void>;
}

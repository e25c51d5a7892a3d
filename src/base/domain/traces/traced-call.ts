// Calls of ops that Weave clients record: start, inputs and result. Starts and ends arrive separately, in any order.
import type { Slice } from "./published-object.ts";

/** Start of a call. Its JSON texts are returned exactly as the client sent them, with all digits of numbers. */
export interface CallStart {
  readonly projectId: string;
  readonly id: string;
  readonly traceId: string;
  /** Id of the call that made this call; null for the root of a trace. */
  readonly parentId: string | null;
  readonly opName: string;
  /** Start time in UTC, as ISO 8601 with microseconds, so that the texts sort like the times. */
  readonly startedAt: string;
  /** Other fields of the start as JSON: display name, thread, run. */
  readonly about: string;
  readonly attributes: string;
  readonly inputs: string;
  /** Owner of the key that recorded the start. */
  readonly createdBy: string;
}

export interface CallEnd {
  readonly projectId: string;
  readonly id: string;
  readonly endedAt: string;
  /** Other fields of the end as JSON: exception, step of the run. */
  readonly ending: string;
  readonly output: string;
  readonly summary: string;
  readonly createdBy: string;
}

/** Part of a call that a client reports: its start, its end, or both. */
interface CallPart {
  readonly start: CallStart | null;
  readonly end: CallEnd | null;
}

/** A call whose start has arrived. `end` is null until the end has arrived, too. */
export interface TracedCall extends CallStart {
  readonly end: CallEnd | null;
}

/** Filter of calls. Fields that are null match all calls. */
export interface CallFilter {
  /** Names of ops to include. A name that ends in `:*` includes all versions of the op. */
  readonly opNames: readonly string[] | null;
  readonly ids: readonly string[] | null;
  readonly traceIds: readonly string[] | null;
  readonly parentIds: readonly string[] | null;
  readonly rootsOnly: boolean;
  /** Includes calls that started at this time or later, in the form of `CallStart.startedAt`. */
  readonly startedFrom: string | null;
  /** Includes calls that started before this time. */
  readonly startedBefore: string | null;
  readonly status: CallStatus | null;
  /**
   * Texts that the call must contain: each in its op, its inputs, its output or its error. They have no capital letters A
   * to Z, which match small ones. Empty to match all calls.
   */
  readonly words: readonly string[];
}

export const callStatuses = ["running", "success", "error"] as const;
export type CallStatus = (typeof callStatuses)[number];

/** Selects a part of the list of calls, which is ordered by the calls' starts. */
export interface CallSlice extends Slice {
  readonly isDescending: boolean;
  /** Call after which `offset` begins to count; absent to count from the beginning. */
  readonly after?: Pick<CallStart, "startedAt" | "id"> | null;
}

export interface CallStore {
  /**
   * Writes all parts or none; durable when it resolves. A part replaces an existing one, so that clients may send it
   * again.
   */
  write(parts: readonly CallPart[]): Promise<void>;
  /**
   * Returns calls ordered by their starts. Their number and bytes are limited. Calls whose start has not arrived are
   * left out.
   *
   * @throws ServiceError `too_slow` or `overloaded` for a filter by status or words, which has a time limit
   */
  list(projectId: string, filter: CallFilter, slice: CallSlice): Promise<readonly TracedCall[]>;
  count(projectId: string, filter: CallFilter): Promise<number>;
  /** Deletes the calls with these ids, and returns the number of deleted calls. */
  delete(projectId: string, ids: readonly string[]): Promise<number>;
}

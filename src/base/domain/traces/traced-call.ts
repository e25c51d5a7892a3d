// Calls of ops that clients of traces record: start, inputs and result. Starts and ends arrive separately and in any
// order.
import type { Slice } from "./published-object.ts";

/** JSON texts are returned as sent, digits included. */
export interface CallStart {
  readonly projectId: string;
  readonly id: string;
  readonly traceId: string;
  /** Null for the root of a trace. */
  readonly parentId: string | null;
  readonly opName: string;
  /** ISO 8601 in UTC with microseconds, so texts sort by time. */
  readonly startedAt: string;
  /** JSON of other fields of the start: display name, thread, run. */
  readonly about: string;
  readonly attributes: string;
  readonly inputs: string;
  /** Owner of the key that recorded it. */
  readonly createdBy: string;
}

export interface CallEnd {
  readonly projectId: string;
  readonly id: string;
  readonly endedAt: string;
  /** JSON of other fields of the end: exception, step of the run. */
  readonly ending: string;
  readonly output: string;
  readonly summary: string;
  readonly createdBy: string;
}

/** At least one of the two is present. */
interface CallPart {
  readonly start: CallStart | null;
  readonly end: CallEnd | null;
}

/** A call whose start has arrived; fields of its end are null until that arrives. */
export interface TracedCall extends CallStart {
  readonly end: CallEnd | null;
}

/** Filter; null fields match all. */
export interface CallFilter {
  /** Names of ops; a name that ends in `:*` matches all versions. */
  readonly opNames: readonly string[] | null;
  readonly ids: readonly string[] | null;
  readonly traceIds: readonly string[] | null;
  readonly parentIds: readonly string[] | null;
  readonly rootsOnly: boolean;
}

/** Slice of the calls, ordered by start. */
export interface CallSlice extends Slice {
  readonly isDescending: boolean;
  /** Call after which `offset` starts counting; absent for the beginning. */
  readonly after?: Pick<CallStart, "startedAt" | "id"> | null;
}

export interface CallStore {
  /** Durable when it resolves, all or nothing. Replaces parts that exist, so clients may resend them. */
  write(parts: readonly CallPart[]): Promise<void>;
  /** Returns calls ordered by start, bounded in items and bytes; calls without a start are left out. */
  list(projectId: string, filter: CallFilter, slice: CallSlice): Promise<readonly TracedCall[]>;
  count(projectId: string, filter: CallFilter): Promise<number>;
  /** Returns how many were deleted. */
  delete(projectId: string, ids: readonly string[]): Promise<number>;
}

// Calls of ops that clients of traces record: what began, what it was given, and what came of it. Their beginnings and ends
// come apart and in any order.
import type { Slice } from "./published-object.ts";

/** JSON texts come back as they were sent, digits included. */
export interface CallStart {
  readonly projectId: string;
  readonly id: string;
  readonly traceId: string;
  /** Null for the root of a trace. */
  readonly parentId: string | null;
  readonly opName: string;
  /** ISO 8601 in UTC with microseconds, which sorts as text. */
  readonly startedAt: string;
  /** JSON of what else it says of itself: its display name, its thread, the run that it belongs to. */
  readonly about: string;
  readonly attributes: string;
  readonly inputs: string;
  /** The owner of the key that recorded it. */
  readonly createdBy: string;
}

export interface CallEnd {
  readonly projectId: string;
  readonly id: string;
  readonly endedAt: string;
  /** JSON of what else its end says: an exception, the step of its run. */
  readonly ending: string;
  readonly output: string;
  readonly summary: string;
  readonly createdBy: string;
}

/** One of the two, or both. */
interface CallPart {
  readonly start: CallStart | null;
  readonly end: CallEnd | null;
}

/** A call that has begun; what its end says is null until it has ended. */
export interface TracedCall extends CallStart {
  readonly end: CallEnd | null;
}

/** What is null lets all through. */
export interface CallFilter {
  /** Names of ops; one that ends in `:*` stands for all versions. */
  readonly opNames: readonly string[] | null;
  readonly ids: readonly string[] | null;
  readonly traceIds: readonly string[] | null;
  readonly parentIds: readonly string[] | null;
  readonly rootsOnly: boolean;
}

/** A part of the calls in the order in which they began. */
export interface CallSlice extends Slice {
  readonly isDescending: boolean;
  /** The call that the part comes behind, which `offset` counts from; the first ones unless given. */
  readonly after?: Pick<CallStart, "startedAt" | "id"> | null;
}

export interface CallStore {
  /** Durable when it resolves, all or nothing. A part that is there already is replaced, so that parts may be sent again. */
  write(parts: readonly CallPart[]): Promise<void>;
  /** In the order in which they began, bounded in items and in bytes; those alone whose beginning has come. */
  list(projectId: string, filter: CallFilter, slice: CallSlice): Promise<readonly TracedCall[]>;
  count(projectId: string, filter: CallFilter): Promise<number>;
  /** Returns how many there were. */
  delete(projectId: string, ids: readonly string[]): Promise<number>;
}

// Calls of ops that clients of traces record: start, inputs and result. Starts and ends arrive separately and in any
// order.
import type { Slice } from "./published-object.ts";

/** Start of a call. Its JSON texts are returned exactly as sent, including the digits of numbers. */
export interface CallStart {
  readonly projectId: string;
  readonly id: string;
  readonly traceId: string;
  /** Id of the parent call; null for the root of a trace. */
  readonly parentId: string | null;
  readonly opName: string;
  /** Start time in ISO 8601, UTC, with microseconds, so that the order of texts is the order of times. */
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

/** Report of a client on a call: its start, its end, or both. */
interface CallPart {
  readonly start: CallStart | null;
  readonly end: CallEnd | null;
}

/** A call whose start has arrived. `end` is null until the end arrives. */
export interface TracedCall extends CallStart {
  readonly end: CallEnd | null;
}

/** Filter; null fields match all. */
export interface CallFilter {
  /** Names of ops. A name that ends in `:*` matches all versions of the op. */
  readonly opNames: readonly string[] | null;
  readonly ids: readonly string[] | null;
  readonly traceIds: readonly string[] | null;
  readonly parentIds: readonly string[] | null;
  readonly rootsOnly: boolean;
}

/** Part of the list of calls, ordered by start. */
export interface CallSlice extends Slice {
  readonly isDescending: boolean;
  /** Call after which `offset` starts counting; absent to count from the beginning. */
  readonly after?: Pick<CallStart, "startedAt" | "id"> | null;
}

export interface CallStore {
  /** Writes all parts or none; durable when it resolves. A part that exists is replaced, so clients may send it again. */
  write(parts: readonly CallPart[]): Promise<void>;
  /** Returns calls ordered by start, limited in items and bytes. Calls whose start has not arrived are left out. */
  list(projectId: string, filter: CallFilter, slice: CallSlice): Promise<readonly TracedCall[]>;
  count(projectId: string, filter: CallFilter): Promise<number>;
  /** Deletes calls and returns their number. */
  delete(projectId: string, ids: readonly string[]): Promise<number>;
}

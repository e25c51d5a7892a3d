// Service that records, lists, counts and deletes traced calls.
import type { Caller } from "../../base/domain/access.ts";
import type { Clock } from "../../base/domain/clock.ts";
import { newUuid7 } from "../../base/domain/random.ts";
import { reachProject } from "../../base/domain/project.ts";
import type {
  CallEnd,
  CallFilter,
  CallSlice,
  CallStart,
  CallStore,
  TracedCall,
} from "../../base/domain/traces/traced-call.ts";

/**
 * A part of a traced call (its start or its end) as a client sent it. If the client gave no id, the id is null, and the
 * server chooses one.
 */
export interface CallInput {
  readonly start:
    | (Omit<CallStart, "createdBy" | "id" | "traceId"> & {
        readonly id: string | null;
        readonly traceId: string | null;
      })
    | null;
  readonly end: Omit<CallEnd, "createdBy"> | null;
}

/** Ids of a call whose start was recorded. */
export interface StartedCall {
  readonly id: string;
  readonly traceId: string;
}

export interface CallService {
  /**
   * Stores all parts of calls or none. Sending the same part again changes nothing. Returns an entry for each part: the
   * call's ids, or null for a part that is only the end of a call.
   *
   * @param projectId project that all parts must belong to; null if each part names its project
   * @throws ServiceError `invalid`, `forbidden`
   */
  record(
    inputs: readonly CallInput[],
    projectId: string | null,
    caller: Caller,
  ): Promise<readonly (StartedCall | null)[]>;
  /**
   * Lists the calls of a project that match a filter.
   *
   * @throws ServiceError `invalid`, `forbidden`
   */
  list(
    projectId: string,
    filter: CallFilter,
    slice: CallSlice,
    caller: Caller,
  ): Promise<readonly TracedCall[]>;
  /**
   * Counts the calls of a project that match a filter.
   *
   * @throws ServiceError `invalid`, `forbidden`
   */
  count(projectId: string, filter: CallFilter, caller: Caller): Promise<number>;
  /**
   * Removes calls permanently; ignores unknown ids.
   *
   * @throws ServiceError `invalid`, `forbidden`
   */
  delete(projectId: string, ids: readonly string[], caller: Caller): Promise<number>;
}

export interface CallDependencies {
  readonly store: CallStore;
  readonly clock: Clock;
}

export function createCallService({ store, clock }: CallDependencies): CallService {
  return {
    record: async (inputs, projectId, caller) => {
      reachAll(inputs, projectId, caller);
      const parts = inputs.map((input) => named(input, caller, clock));
      await store.write(parts);
      return parts.map(({ start }) => (start === null ? null : { id: start.id, traceId: start.traceId }));
    },
    list: async (projectId, filter, slice, caller) => {
      reachProject(projectId, caller);
      return await store.list(projectId, filter, slice);
    },
    count: async (projectId, filter, caller) => {
      reachProject(projectId, caller);
      return await store.count(projectId, filter);
    },
    delete: async (projectId, ids, caller) => {
      reachProject(projectId, caller);
      return await store.delete(projectId, ids);
    },
  };
}

function reachAll(inputs: readonly CallInput[], projectId: string | null, caller: Caller): void {
  if (projectId !== null) reachProject(projectId, caller);
  const known = new Set<string>();
  for (const { start, end } of inputs) {
    for (const part of [start, end]) {
      if (part === null || known.has(part.projectId)) continue;
      known.add(part.projectId);
      reachProject(part.projectId, caller);
    }
  }
}

function named({ start, end }: CallInput, { owner: createdBy }: Caller, clock: Clock) {
  return {
    start:
      start === null
        ? null
        : {
            ...start,
            id: start.id ?? newUuid7(clock),
            traceId: start.traceId ?? newUuid7(clock),
            createdBy,
          },
    end: end === null ? null : { ...end, createdBy },
  };
}

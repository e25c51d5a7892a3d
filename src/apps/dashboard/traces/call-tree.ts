// The calls of a trace as a tree, in the order in which they are shown. Has no side effects.
import type { WeaveCall } from "../../client/api.ts";

type Call = Pick<WeaveCall, "id" | "parent_id" | "op_name" | "display_name" | "started_at" | "ended_at">;

export interface TreeRow<Node extends Call> {
  readonly call: Node;
  /** Number of calls above this one. */
  readonly depth: number;
}

/**
 * Returns the calls so that each parent comes before its children, and siblings are in the order of their start.
 * Calls whose parent is not among the calls are roots.
 */
export function treeRows<Node extends Call>(calls: readonly Node[]): readonly TreeRow<Node>[] {
  const ids = new Set(calls.map(({ id }) => id));
  const childrenOf = new Map<string | null, Node[]>();
  const ordered = calls.toSorted((one, other) => Date.parse(one.started_at) - Date.parse(other.started_at));
  for (const call of ordered) {
    const parent = call.parent_id !== null && ids.has(call.parent_id) ? call.parent_id : null;
    childrenOf.set(parent, [...(childrenOf.get(parent) ?? []), call]);
  }
  const rows: TreeRow<Node>[] = [];
  // A stack instead of recursion, because a trace may be thousands of calls deep.
  const waiting = (childrenOf.get(null) ?? []).map((call) => ({ call, depth: 0 })).toReversed();
  for (let row = waiting.pop(); row !== undefined; row = waiting.pop()) {
    rows.push(row);
    const depth = row.depth + 1;
    waiting.push(...(childrenOf.get(row.call.id) ?? []).map((call) => ({ call, depth })).toReversed());
  }
  return rows;
}

/** Returns the name of a call that is shown to users: without the digest of a published op. */
export function callName({ display_name: name, op_name: op }: Call): string {
  if (name !== null && name !== "") return name;
  return /\/op\/([^/:]+)(?::[^/]*)?$/.exec(op)?.[1] ?? op;
}

/** Returns the duration of a call in milliseconds; null while it is running. */
export function durationMs({ started_at: start, ended_at: end }: Call): number | null {
  return end === null ? null : Math.max(0, Date.parse(end) - Date.parse(start));
}

/** Start and length of a bar, as percentages of the time from the first start to the last end. */
export interface Bar {
  readonly start: number;
  readonly length: number;
}

/** Returns a function that places the bar of a call. Running calls last until the end. */
export function barsOf(calls: readonly Call[]): (call: Call) => Bar {
  const starts = calls.map(({ started_at: at }) => Date.parse(at));
  const ends = calls.map(({ started_at: start, ended_at: end }) => Date.parse(end ?? start));
  const first = starts.reduce((least, at) => Math.min(least, at), Infinity);
  const last = ends.reduce((most, at) => Math.max(most, at), -Infinity);
  const wholeMs = Math.max(1, last - first);
  return (call) => {
    const startMs = Date.parse(call.started_at) - first;
    return {
      start: (100 * startMs) / wholeMs,
      length: (100 * (durationMs(call) ?? wholeMs - startMs)) / wholeMs,
    };
  };
}

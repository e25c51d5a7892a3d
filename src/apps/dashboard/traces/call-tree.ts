// The calls of a trace as a tree, in the order in which they are shown. Has no side effects.
import type { WeaveCall } from "../../client/api.ts";

type Call = Pick<WeaveCall, "id" | "parent_id" | "op_name" | "display_name" | "started_at" | "ended_at">;

export interface TreeRow<Node extends Call> {
  readonly call: Node;
  /** Number of calls above this one. */
  readonly depth: number;
  /** Number of calls below this one, at any depth. */
  readonly insideCount: number;
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
  const rows: Omit<TreeRow<Node>, "insideCount">[] = [];
  // A stack instead of recursion, because a trace may be thousands of calls deep.
  const waiting = (childrenOf.get(null) ?? []).map((call) => ({ call, depth: 0 })).toReversed();
  for (let row = waiting.pop(); row !== undefined; row = waiting.pop()) {
    rows.push(row);
    const depth = row.depth + 1;
    waiting.push(...(childrenOf.get(row.call.id) ?? []).map((call) => ({ call, depth })).toReversed());
  }
  return withCounts(rows);
}

/** Adds to each row the number of rows below it: those that follow until the next row that is not deeper. */
function withCounts<Row extends { readonly depth: number }>(
  rows: readonly Row[],
): readonly (Row & { readonly insideCount: number })[] {
  const ends = rows.map(() => rows.length);
  const open: number[] = [];
  for (const [place, { depth }] of rows.entries()) {
    while (open.length > 0 && (rows[open.at(-1) ?? 0]?.depth ?? 0) >= depth) ends[open.pop() ?? 0] = place;
    open.push(place);
  }
  return rows.map((row, place) => ({ ...row, insideCount: (ends[place] ?? 0) - place - 1 }));
}

/** Returns the rows that are not below a collapsed call. */
export function visibleRows<Node extends Call>(
  rows: readonly TreeRow<Node>[],
  collapsed: ReadonlySet<string>,
): readonly TreeRow<Node>[] {
  const visible: TreeRow<Node>[] = [];
  let next = 0;
  for (const [place, row] of rows.entries()) {
    if (place < next) continue;
    visible.push(row);
    if (collapsed.has(row.call.id)) next = place + 1 + row.insideCount;
  }
  return visible;
}

/** Returns the topmost calls that meet a condition: none of them is below another. */
export function topmost<Node extends Call>(
  rows: readonly TreeRow<Node>[],
  meets: (call: Node) => boolean,
): readonly Node[] {
  const found = rows.filter(({ call }) => meets(call)).map(({ call }) => call);
  const tops = visibleRows(rows, new Set(found.map(({ id }) => id)));
  return tops.flatMap(({ call }) => (meets(call) ? [call] : []));
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

/** Start and length of a bar, as percentages of the timeline. */
export interface Bar {
  readonly start: number;
  readonly length: number;
}

/** The time of a trace from its first start to its last end, as the scale of all its bars. */
export interface Timeline {
  readonly barOf: (call: Call) => Bar;
  /** Distance of the axis's ticks, as a percentage of the whole. */
  readonly tickLength: number;
  /** Times of the ticks in milliseconds since the first start; the first is 0. */
  readonly ticksMs: readonly number[];
}

/** Maximum number of distances between ticks. More would not fit into a narrow column. */
const distancesMax = 4;

/** Returns the timeline of a trace. Running calls last until its end. */
export function timelineOf(calls: readonly Call[]): Timeline {
  const starts = calls.map(({ started_at: at }) => Date.parse(at));
  const ends = calls.map(({ started_at: start, ended_at: end }) => Date.parse(end ?? start));
  const first = starts.reduce((least, at) => Math.min(least, at), Infinity);
  const last = ends.reduce((most, at) => Math.max(most, at), -Infinity);
  const wholeMs = Math.max(1, last - first);
  const stepMs = tickMs(wholeMs);
  return {
    barOf: (call) => {
      const startMs = Date.parse(call.started_at) - first;
      return {
        start: (100 * startMs) / wholeMs,
        length: (100 * (durationMs(call) ?? wholeMs - startMs)) / wholeMs,
      };
    },
    tickLength: (100 * stepMs) / wholeMs,
    ticksMs: Array.from({ length: Math.floor(wholeMs / stepMs) + 1 }, (_, index) => index * stepMs),
  };
}

/** Returns the smallest distance of the form 1, 2 or 5 times a power of ten that yields few ticks. */
function tickMs(wholeMs: number): number {
  const least = Math.max(1, wholeMs / distancesMax);
  const power = 10 ** Math.floor(Math.log10(least));
  return ([1, 2, 5].find((digit) => digit * power >= least) ?? 10) * power;
}

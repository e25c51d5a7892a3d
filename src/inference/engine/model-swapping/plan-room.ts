// Plans which base models (bases) are in memory next, from the loaded bases, the queue and the time; other modules
// carry out the plan. Waiting bases get room strictly in order, so small bases cannot overtake a large base forever.
// While others wait for room, an idle base is unloaded, and a busy base accepts no new requests after a minimum time.

/** A base model with the properties that matter for planning. */
export interface PlannedBase {
  readonly name: string;
  /** Estimated memory in bytes that the base takes in all states except `unloaded`. */
  readonly bytes: number;
  readonly state: "unloaded" | "loading" | "loaded" | "unloading";
  /** True while requests run on the base. */
  readonly isBusy: boolean;
  /** True if the base accepts no new requests, so that another base gets its room. */
  readonly isClosed: boolean;
  /** True if the base stays loaded while idle, and is unloaded after all others. */
  readonly isKept: boolean;
  readonly loadedAtMs: number;
  /** Time when the latest request of the base began or ended. */
  readonly usedAtMs: number;
}

export interface RoomLimits {
  /** Limit for the memory of all bases, in bytes; Infinity if unlimited. */
  readonly bytesMax: number;
  /** Idle time after which a base is unloaded; Infinity to keep idle bases loaded. */
  readonly keepAliveMs: number;
  /**
   * Minimum time that a busy base stays loaded before it is closed for another base, so that loading it was worth the
   * cost.
   */
  readonly turnMs: number;
  /** Time without a request after which a base makes room for another base, even before `turnMs` has passed. */
  readonly pauseMs: number;
}

export interface RoomPlan {
  /** Bases whose load begins now. */
  readonly load: readonly string[];
  /** Bases whose unload begins now, each with the reason. */
  readonly unload: readonly { readonly name: string; readonly why: "idle" | "room" }[];
  /** Bases that accept no new requests until they are unloaded, or until no other base waits for their room. */
  readonly closed: ReadonlySet<string>;
  /** Time at which to plan again if nothing happens until then; Infinity if nothing is scheduled. */
  readonly wakeAtMs: number;
}

/**
 * Plans which bases to load, unload and close now.
 *
 * @param waiting the bases that requests wait for, the longest wait first; each fits `bytesMax` without others
 */
export function planRoom(
  tenants: readonly PlannedBase[],
  waiting: readonly string[],
  { limits, nowMs }: { readonly limits: RoomLimits; readonly nowMs: number },
): RoomPlan {
  const load: string[] = [];
  let free = limits.bytesMax - bytesOf(tenants.filter(({ state }) => state !== "unloaded"));
  for (const name of waiting) {
    const tenant = tenants.find((candidate) => candidate.name === name);
    if (tenant === undefined || tenant.state === "loaded" || tenant.state === "loading") continue;
    if (tenant.state === "unloading" || tenant.bytes > free) {
      const needed = tenant.state === "unloading" ? 0 : tenant.bytes - free;
      return { load, ...makeRoom(tenants, needed, { limits, nowMs }) };
    }
    load.push(name);
    free -= tenant.bytes;
  }
  return { load, ...planIdleUnloads(tenants, waiting, { limits, nowMs }) };
}

type Rest = Omit<RoomPlan, "load">;
interface Now {
  readonly limits: RoomLimits;
  readonly nowMs: number;
}

const nothing: Rest = { unload: [], closed: new Set(), wakeAtMs: Infinity };

/**
 * Makes room for one base. Unloads idle bases if that suffices. Otherwise closes bases that have been loaded for at
 * least `turnMs`, so that they become idle.
 */
function makeRoom(tenants: readonly PlannedBase[], needed: number, now: Now): Rest {
  const rest = needed - bytesOf(tenants.filter(({ state }) => state === "unloading"));
  if (rest <= 0) return nothing;
  const loaded = tenants.filter(({ state }) => state === "loaded");
  const idle = chooseEnoughToFree(
    loaded.filter((tenant) => !tenant.isBusy && mayUnload(tenant, now)).sort(compareLastUse),
    rest,
  );
  if (idle !== null) {
    return { ...nothing, unload: idle.map(({ name }) => ({ name, why: "room" })) };
  }
  // Closed bases come first in the order, so they stay closed.
  const closing = chooseEnoughToFree(
    loaded.filter((tenant) => tenant.isClosed || mayClose(tenant, now)).sort(compareClosed),
    rest,
  );
  const ends = loaded.map((tenant) => tenant.loadedAtMs + now.limits.turnMs);
  const pauses = loaded.filter(({ isBusy }) => !isBusy).map(({ usedAtMs }) => usedAtMs + now.limits.pauseMs);
  const later = [...ends, ...pauses].filter((timeMs) => timeMs > now.nowMs);
  return {
    unload: [],
    closed: new Set((closing ?? loaded.filter(({ isClosed }) => isClosed)).map(({ name }) => name)),
    wakeAtMs: Math.min(Infinity, ...later),
  };
}

function isSliceExpired({ loadedAtMs }: PlannedBase, { limits, nowMs }: Now): boolean {
  return nowMs - loadedAtMs >= limits.turnMs;
}

function mayUnload(tenant: PlannedBase, now: Now): boolean {
  return tenant.isClosed || isSliceExpired(tenant, now) || now.nowMs - tenant.usedAtMs >= now.limits.pauseMs;
}

function mayClose(tenant: PlannedBase, now: Now): boolean {
  return isSliceExpired(tenant, now) || (!tenant.isBusy && mayUnload(tenant, now));
}

/**
 * Returns the first bases of the list that free enough memory together, as few as possible; null if all of them are not
 * enough.
 */
function chooseEnoughToFree(tenants: readonly PlannedBase[], bytes: number): readonly PlannedBase[] | null {
  const taken: PlannedBase[] = [];
  let freed = 0;
  for (const tenant of tenants) {
    if (freed >= bytes) break;
    taken.push(tenant);
    freed += tenant.bytes;
  }
  return freed >= bytes ? taken : null;
}

function compareLastUse(one: PlannedBase, other: PlannedBase): number {
  return Number(one.isKept) - Number(other.isKept) || one.usedAtMs - other.usedAtMs;
}

function compareClosed(one: PlannedBase, other: PlannedBase): number {
  return (
    Number(other.isClosed) - Number(one.isClosed) ||
    Number(one.isKept) - Number(other.isKept) ||
    one.loadedAtMs - other.loadedAtMs
  );
}

/** Unloads bases that have been idle for the keep-alive time. Applies only if no request waits for room. */
function planIdleUnloads(
  tenants: readonly PlannedBase[],
  waiting: readonly string[],
  { limits, nowMs }: Now,
): Rest {
  const idle = tenants.filter(
    ({ name, state, isBusy, isKept }) => state === "loaded" && !isBusy && !isKept && !waiting.includes(name),
  );
  const isDue = ({ usedAtMs }: PlannedBase): boolean => nowMs - usedAtMs >= limits.keepAliveMs;
  const later = idle.filter((tenant) => !isDue(tenant)).map(({ usedAtMs }) => usedAtMs + limits.keepAliveMs);
  return {
    ...nothing,
    unload: idle.filter(isDue).map(({ name }) => ({ name, why: "idle" })),
    wakeAtMs: Math.min(Infinity, ...later),
  };
}

/**
 * Returns the bases to load at startup. Considers them in the given order, and takes each base that fits in memory
 * together with those taken before.
 */
export function readyAtStart(
  bases: readonly { readonly name: string; readonly bytes: number }[],
  bytesMax: number,
): ReadonlySet<string> {
  const ready = new Set<string>();
  let free = bytesMax;
  for (const { name, bytes } of bases) {
    if (bytes > free) continue;
    ready.add(name);
    free -= bytes;
  }
  return ready;
}

function bytesOf(tenants: readonly PlannedBase[]): number {
  return tenants.reduce((sum, { bytes }) => sum + bytes, 0);
}

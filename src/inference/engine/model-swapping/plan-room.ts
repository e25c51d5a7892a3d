// Plans which base models are in memory next. It is a pure function of the loaded bases, the queue, and the time; it
// loads and unloads nothing itself. Waiting bases get room strictly in order, so small ones never overtake a large one
// forever, and a base that others wait for is unloaded once idle, or accepts no new requests once its turn is over.

/** A base model from the view of memory planning. */
export interface PlannedBase {
  readonly name: string;
  /** Estimated memory while it is not `unloaded`. */
  readonly bytes: number;
  readonly state: "unloaded" | "loading" | "loaded" | "unloading";
  /** True while requests run on it. */
  readonly isBusy: boolean;
  /** True if the base accepts no new requests, so that another base gets its room. */
  readonly isClosed: boolean;
  /** True if the base stays loaded while idle, and is unloaded after all others. */
  readonly isKept: boolean;
  readonly loadedAtMs: number;
  /** Time when the base's last request began or ended. */
  readonly usedAtMs: number;
}

export interface RoomLimits {
  /** Memory limit in bytes; Infinity if unlimited. */
  readonly bytesMax: number;
  /** Idle time after which a base is unloaded; Infinity keeps it. */
  readonly keepAliveMs: number;
  /** Minimum time before a base is closed for another one, so that its load is worth the cost. */
  readonly turnMs: number;
  /** Time without a request after which a base makes room for another before its turn is over. */
  readonly pauseMs: number;
}

export interface RoomPlan {
  /** Loads to begin now. */
  readonly load: readonly string[];
  /** Unloads to begin now, with the reason. */
  readonly unload: readonly { readonly name: string; readonly why: "idle" | "room" }[];
  /** Bases that accept no new requests until they are unloaded, or until no other base waits for their room. */
  readonly closed: ReadonlySet<string>;
  /** Time of the next plan if nothing happens until then; Infinity if no timeout is pending. */
  readonly wakeAtMs: number;
}

/**
 * Plans loads and unloads.
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
 * Makes room for one base: unloads idle bases if they suffice, otherwise closes bases whose turn is over, so that they
 * finish their requests.
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
  // Closed bases stay closed: they finish their requests and accept no new ones.
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

/** Returns the shortest prefix of the bases that frees enough memory; null if all of them together do not. */
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

/** If no request waits for room: unloads bases whose idle time is over. */
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

/** Returns the bases to load at startup: as many as fit together, in this order. */
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

// Which base models are in memory next: a pure function of what is there, who waits, and the time. Bases that wait get room
// strictly in the order in which they began to, so that small ones never overtake a large one for ever; a base that others
// wait for is let go once it is idle, or takes no new requests once it had its turn. Loads and lets go of nothing itself.

/** A base model as far as room is concerned. */
export interface Tenant {
  readonly name: string;
  /** What it takes while it is not `unloaded`. */
  readonly bytes: number;
  readonly state: "unloaded" | "loading" | "loaded" | "unloading";
  /** Requests run on it. */
  readonly isBusy: boolean;
  /** It takes no new requests, so that another base gets its room. */
  readonly isClosed: boolean;
  /** It stays however long nobody asks for it, and goes after all others. */
  readonly isKept: boolean;
  readonly loadedAtMs: number;
  /** When its last request began or ended. */
  readonly usedAtMs: number;
}

export interface RoomLimits {
  /** Infinity where nothing bounds it. */
  readonly bytesMax: number;
  /** How long a base stays that nobody asks for; Infinity keeps it. */
  readonly keepAliveMs: number;
  /** For so long a base is not closed for another one: what a load costs is then worth it. */
  readonly turnMs: number;
  /** One without a request for so long makes room for another before its turn is over. */
  readonly pauseMs: number;
}

export interface RoomPlan {
  /** To be begun now. */
  readonly load: readonly string[];
  /** To be begun now, with why. */
  readonly unload: readonly { readonly name: string; readonly why: "idle" | "room" }[];
  /** Take no new requests until they are unloaded, or nobody waits for their room any more. */
  readonly closed: ReadonlySet<string>;
  /** When to plan again if nothing happens until then; Infinity where time alone changes nothing. */
  readonly wakeAtMs: number;
}

/**
 * Plans what is loaded and let go.
 *
 * @param waiting the bases that requests wait for, the one that began to first; each fits `bytesMax` by itself
 */
export function planRoom(
  tenants: readonly Tenant[],
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
  return { load, ...letGoIdle(tenants, waiting, { limits, nowMs }) };
}

type Rest = Omit<RoomPlan, "load">;
interface Now {
  readonly limits: RoomLimits;
  readonly nowMs: number;
}

const nothing: Rest = { unload: [], closed: new Set(), wakeAtMs: Infinity };

/** Room for one base: of idle ones where they suffice, else of those that had their turn, which finish what they do. */
function makeRoom(tenants: readonly Tenant[], needed: number, now: Now): Rest {
  const rest = needed - bytesOf(tenants.filter(({ state }) => state === "unloading"));
  if (rest <= 0) return nothing;
  const loaded = tenants.filter(({ state }) => state === "loaded");
  const idle = enough(
    loaded.filter((tenant) => !tenant.isBusy && mayGo(tenant, now)).sort(longestUnused),
    rest,
  );
  if (idle !== null) {
    return { ...nothing, unload: idle.map(({ name }) => ({ name, why: "room" })) };
  }
  // Those that are closed already stay so: what they still do comes to an end, and nothing is added.
  const closing = enough(
    loaded.filter((tenant) => tenant.isClosed || mayClose(tenant, now)).sort(closedFirst),
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

function hadItsTurn({ loadedAtMs }: Tenant, { limits, nowMs }: Now): boolean {
  return nowMs - loadedAtMs >= limits.turnMs;
}

function mayGo(tenant: Tenant, now: Now): boolean {
  return tenant.isClosed || hadItsTurn(tenant, now) || now.nowMs - tenant.usedAtMs >= now.limits.pauseMs;
}

function mayClose(tenant: Tenant, now: Now): boolean {
  return hadItsTurn(tenant, now) || (!tenant.isBusy && mayGo(tenant, now));
}

/** The first of these that free as much; null where all together do not. */
function enough(tenants: readonly Tenant[], bytes: number): readonly Tenant[] | null {
  const taken: Tenant[] = [];
  let freed = 0;
  for (const tenant of tenants) {
    if (freed >= bytes) break;
    taken.push(tenant);
    freed += tenant.bytes;
  }
  return freed >= bytes ? taken : null;
}

function longestUnused(one: Tenant, other: Tenant): number {
  return Number(one.isKept) - Number(other.isKept) || one.usedAtMs - other.usedAtMs;
}

function closedFirst(one: Tenant, other: Tenant): number {
  return (
    Number(other.isClosed) - Number(one.isClosed) ||
    Number(one.isKept) - Number(other.isKept) ||
    one.loadedAtMs - other.loadedAtMs
  );
}

/** Nobody waits for room: those go that were not asked for in a long time. */
function letGoIdle(tenants: readonly Tenant[], waiting: readonly string[], { limits, nowMs }: Now): Rest {
  const idle = tenants.filter(
    ({ name, state, isBusy, isKept }) => state === "loaded" && !isBusy && !isKept && !waiting.includes(name),
  );
  const isDue = ({ usedAtMs }: Tenant): boolean => nowMs - usedAtMs >= limits.keepAliveMs;
  const later = idle.filter((tenant) => !isDue(tenant)).map(({ usedAtMs }) => usedAtMs + limits.keepAliveMs);
  return {
    ...nothing,
    unload: idle.filter(isDue).map(({ name }) => ({ name, why: "idle" })),
    wakeAtMs: Math.min(Infinity, ...later),
  };
}

/** Which bases are loaded at the start: as many as fit together, in this order. */
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

function bytesOf(tenants: readonly Tenant[]): number {
  return tenants.reduce((sum, { bytes }) => sum + bytes, 0);
}

// Tests the planner that decides which base models are loaded and unloaded next: single decisions, and long random
// simulations. In the simulations no base may starve, memory may not overflow, and each load must be worthwhile.
import assert from "node:assert/strict";
import { test } from "node:test";
import { present } from "../../../base/domain/assert.ts";
import { seededRandom } from "../../../base/domain/random.ts";
import { searchSeeds } from "../../../base/domain/testing/search.ts";
import { planRoom, readyAtStart, type RoomLimits, type PlannedBase } from "./plan-room.ts";

const limits: RoomLimits = { bytesMax: 10, keepAliveMs: 100_000, turnMs: 10_000, pauseMs: 250 };

const tenant = (name: string, more: Partial<PlannedBase> = {}): PlannedBase => ({
  name,
  bytes: 5,
  state: "unloaded",
  isBusy: false,
  isClosed: false,
  isKept: false,
  loadedAtMs: 0,
  usedAtMs: 0,
  ...more,
});
const loaded = (name: string, more: Partial<PlannedBase> = {}): PlannedBase =>
  tenant(name, { state: "loaded", ...more });

function check(
  tenants: readonly PlannedBase[],
  waiting: readonly string[],
  expected: {
    readonly load?: readonly string[];
    readonly room?: readonly string[];
    readonly idle?: readonly string[];
    readonly closed?: readonly string[];
    readonly wakeAtMs?: number;
  },
  nowMs = 50_000,
): void {
  const { load, unload, closed, wakeAtMs } = planRoom(tenants, waiting, { limits, nowMs });
  const goes = (why: string) => unload.filter((one) => one.why === why).map(({ name }) => name);
  const { load: loads = [], room = [], idle = [], closed: shut = [], wakeAtMs: wake } = expected;
  assert.deepEqual(
    { load, room: goes("room"), idle: goes("idle"), closed: [...closed] },
    { load: loads, room, idle, closed: shut },
  );
  if (wake !== undefined) assert.equal(wakeAtMs, wake);
}

test("loads bases that are waited for while there is room, and unloads nothing", () => {
  check([loaded("a"), tenant("b")], ["b"], { load: ["b"] });
});

test("unloads idle bases to make room, the least recently used first, and no more than needed", () => {
  check([loaded("a", { usedAtMs: 9 }), loaded("b", { usedAtMs: 3 }), tenant("c")], ["c"], { room: ["b"] });
});

test("unloads a kept base only if nothing else makes room", () => {
  check([loaded("a", { isKept: true }), loaded("b", { usedAtMs: 3 }), tenant("c")], ["c"], { room: ["b"] });
  check([loaded("a", { isKept: true, bytes: 10 }), tenant("c")], ["c"], { room: ["a"] });
});

test("a busy base accepts no more requests after its turn, and is unloaded when idle", () => {
  const tenants = [loaded("a", { bytes: 10, isBusy: true, loadedAtMs: 45_000 }), tenant("b")];
  check(tenants, ["b"], { wakeAtMs: 55_000 });
  check(tenants, ["b"], { closed: ["a"] }, 55_000);
  const idle = { ...tenants[0], isBusy: false, isClosed: true, usedAtMs: 55_001 };
  check([idle, tenants[1]], ["b"], { room: ["a"] }, 55_001);
});

test("a base with short gaps between requests is not unloaded in a gap before its turn is over", () => {
  const one = { bytes: 10, loadedAtMs: 45_000, usedAtMs: 49_900 };
  check([loaded("a", one), tenant("b")], ["b"], { wakeAtMs: 50_150 });
  check([loaded("a", one), tenant("b")], ["b"], { room: ["a"] }, 50_150);
});

test("a closed base stays closed until it is idle, regardless of other bases", () => {
  const tenants = [
    loaded("a", { isBusy: true, isClosed: true, loadedAtMs: 30_000 }),
    loaded("b", { isBusy: true, loadedAtMs: 1 }),
    tenant("c"),
  ];
  check(tenants, ["c"], { closed: ["a"] });
});

test("no base overtakes the one that waited first, however small", () => {
  check(
    [loaded("a", { bytes: 8, isBusy: true }), tenant("b", { bytes: 9 }), tenant("c", { bytes: 1 })],
    ["b", "c"],
    {
      closed: ["a"],
    },
  );
});

test("waits for an unload in progress instead of unloading more", () => {
  check([tenant("a", { state: "unloading" }), loaded("b"), tenant("c")], ["c"], {});
});

test("unloads bases after their idle time, except kept, busy or waited-for ones", () => {
  const usedAtMs = 50_000;
  const tenants = [loaded("a", { usedAtMs }), loaded("b", { isKept: true }), loaded("c", { isBusy: true })];
  check(tenants, [], { wakeAtMs: 150_000 });
  check(tenants, [], { idle: ["a"] }, 150_000);
});

test("at the start, loads as many as fit, in their order", () => {
  const bases = [4, 7, 5, 1].map((bytes, index) => ({ name: `${index}`, bytes }));
  assert.deepEqual([...readyAtStart(bases, 10)], ["0", "2", "3"]);
  assert.deepEqual([...readyAtStart(bases, Infinity)], ["0", "1", "2", "3"]);
});

const tickMs = 50;
const loadMsMax = 3000;
const unloadMsMax = 500;
const runMsMax = 6000;

interface SimulatedBase {
  readonly name: string;
  readonly bytes: number;
  readonly isKept: boolean;
  /** Probability that a request arrives in a tick. */
  readonly rate: number;
  state: PlannedBase["state"];
  isClosed: boolean;
  loadedAtMs: number;
  usedAtMs: number;
  changesAtMs: number;
  waitingSinceMs: number | null;
  claim: number;
  runsUntilMs: number[];
  servedCount: number;
}

/**
 * Simulates random clients, some of which send requests constantly. Only a few of the bases fit in memory. Waiting
 * requests occasionally give up.
 */
class History {
  readonly bases: SimulatedBase[];
  readonly #random;
  #nowMs = 0;
  #claims = 0;
  loadCount = 0;
  servedCount = 0;

  constructor(seed: number) {
    const random = (this.#random = seededRandom("room", seed));
    const count = 2 + Math.floor(random.uniform() * 5);
    this.bases = Array.from({ length: count }, (_, index) => ({
      name: `${index}`,
      bytes: 1 + Math.floor(random.uniform() * limits.bytesMax),
      isKept: index === 0 && random.uniform() < 0.5,
      rate: random.uniform() < 0.5 ? 1 : random.uniform() ** 3,
      state: "unloaded",
      isClosed: false,
      loadedAtMs: 0,
      usedAtMs: 0,
      changesAtMs: 0,
      waitingSinceMs: null,
      claim: 0,
      runsUntilMs: [],
      servedCount: 0,
    }));
  }

  tick(): void {
    this.#nowMs += tickMs;
    for (const base of this.bases) {
      this.#settle(base);
      this.#arrive(base);
    }
    // Plans again until nothing changes, because in reality each change triggers another plan.
    while (this.#plan());
    const used = this.bases.reduce((sum, { state, bytes }) => sum + (state === "unloaded" ? 0 : bytes), 0);
    assert.ok(used <= limits.bytesMax, `${used} bytes are used`);
    const patienceMs =
      this.bases.length * (limits.turnMs + runMsMax + unloadMsMax + loadMsMax + limits.pauseMs + 8 * tickMs);
    for (const { name, waitingSinceMs } of this.bases) {
      const waitedMs = waitingSinceMs === null ? 0 : this.#nowMs - waitingSinceMs;
      assert.ok(waitedMs <= patienceMs, `${name} waits for ${waitedMs} ms`);
    }
  }

  #settle(base: SimulatedBase): void {
    const left = base.runsUntilMs.filter((end) => end > this.#nowMs);
    if (left.length < base.runsUntilMs.length) base.usedAtMs = this.#nowMs;
    base.runsUntilMs = left;
    if (base.changesAtMs > this.#nowMs) return;
    if (base.state === "unloading") base.state = "unloaded";
    if (base.state !== "loading") return;
    base.state = "loaded";
    base.servedCount = 0;
    base.loadedAtMs = base.usedAtMs = this.#nowMs;
  }

  #arrive(base: SimulatedBase): void {
    const random = this.#random;
    if (base.waitingSinceMs !== null && random.uniform() < 0.0005) base.waitingSinceMs = null;
    if (random.uniform() >= base.rate) return;
    if (base.state === "loaded" && !base.isClosed) return this.#serve(base);
    if (base.waitingSinceMs !== null) return;
    base.waitingSinceMs = this.#nowMs;
    base.claim = ++this.#claims;
  }

  #serve(base: SimulatedBase): void {
    base.waitingSinceMs = null;
    base.usedAtMs = this.#nowMs;
    base.servedCount += 1;
    this.servedCount += 1;
    base.runsUntilMs.push(this.#nowMs + 1 + this.#random.uniform() * (runMsMax - 1));
  }

  /**
   * Carries out one plan.
   *
   * @returns true if anything changed
   */
  #plan(): boolean {
    const waiting = this.bases
      .filter(({ waitingSinceMs }) => waitingSinceMs !== null)
      .sort((one, other) => one.claim - other.claim);
    const tenants = this.bases.map((base) => ({ ...base, isBusy: base.runsUntilMs.length > 0 }));
    const names = waiting.map(({ name }) => name);
    const plan = planRoom(tenants, names, { limits, nowMs: this.#nowMs });
    const find = (name: string) =>
      present(
        this.bases.find((base) => base.name === name),
        "a base of the plan",
      );
    for (const { name, why } of plan.unload) this.#unload(find(name), why);
    for (const name of plan.load) this.#load(find(name));
    for (const base of this.bases) base.isClosed = plan.closed.has(base.name);
    const admitted = waiting.filter(({ state, isClosed }) => state === "loaded" && !isClosed);
    for (const base of admitted) this.#serve(base);
    return plan.unload.length + plan.load.length + admitted.length > 0;
  }

  #unload(base: SimulatedBase, why: string): void {
    assert.deepEqual([base.state, base.runsUntilMs], ["loaded", []], "only an idle base is unloaded");
    const loadedMs = this.#nowMs - base.loadedAtMs;
    assert.ok(why === "idle" || loadedMs >= limits.pauseMs, `${base.name} was there for ${loadedMs} ms`);
    base.state = "unloading";
    base.changesAtMs = this.#nowMs + this.#random.uniform() * unloadMsMax;
  }

  #load(base: SimulatedBase): void {
    assert.equal(base.state, "unloaded");
    assert.notEqual(base.waitingSinceMs, null, "only bases with waiting requests are loaded");
    this.loadCount += 1;
    base.state = "loading";
    base.changesAtMs = this.#nowMs + this.#random.uniform() * loadMsMax;
  }
}

test("over long histories no base starves, memory stays within its limit, and every base serves before it is unloaded", () => {
  for (const seed of searchSeeds(4)) {
    const history = new History(seed);
    try {
      for (let count = 0; count < 4000; count++) history.tick();
    } catch (error) {
      throw new Error(`seed ${seed}`, { cause: error });
    }
    const isMuchAsked = history.bases.some(({ rate }) => rate === 1);
    if (!isMuchAsked) continue;
    assert.ok(history.servedCount > history.loadCount, "loads are fewer than requests");
    // The simulation lasts 200 s. Each base that gets constant requests stays loaded for a while between two loads of
    // any other base. This limits the number of loads.
    const loadsMax = history.bases.length * (1 + (4000 * tickMs) / limits.pauseMs);
    assert.ok(history.loadCount < loadsMax);
  }
});

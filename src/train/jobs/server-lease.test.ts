// Tests a server's lease, with the in-memory store and a clock that the test moves.
import assert from "node:assert/strict";
import { test, type TestContext } from "node:test";
import { FakeClock } from "../../base/domain/testing/fake-clock.ts";
import type { ServerStore } from "../../base/domain/servers/server-store.ts";
import { checkService } from "../../base/domain/testing/check-service.ts";
import { openPostgres } from "../../store/database/postgres/postgres-dialect.ts";
import { openStores } from "../../store/database/stores.ts";
import { storesInMemory } from "../../store/database/testing/stores-in-memory.ts";
import { createPostgres, withoutPostgres } from "../../store/database/testing/postgres-databases.ts";
import { silentLogger } from "../../base/telemetry/testing/silent-logger.ts";
import { ServerLease } from "./server-lease.ts";
import { jobSettings } from "./settings.ts";

/** @param reached wraps the server store that `newLease` gives to its servers */
async function open(t: TestContext, reached: (servers: ServerStore) => ServerStore = (servers) => servers) {
  const clock = new FakeClock();
  const { servers } = await storesInMemory();
  const newLease = (artifacts = "shared"): ServerLease => {
    const base = { baseModels: ["tiny"], artifacts, clock, logger: silentLogger };
    const lease = new ServerLease({ ...base, servers: reached(servers) }, jobSettings.with());
    t.after(() => lease.stop());
    return lease;
  };
  /** True if a server still has a lease after expired leases were deleted. */
  const isLive = async (id: string): Promise<boolean> => {
    const now = clock.now().getTime();
    await servers.deleteExpired({ before: new Date(now), after: new Date(now + 120_000) });
    return servers.renew(id, new Date(now + 60_000));
  };
  return { clock, newLease, isLive };
}

checkService({
  name: "server's lease",
  make: async (t) => {
    const { clock, newLease } = await open(t);
    return { service: newLease(), upCount: async () => clock.sleepingCount };
  },
  failing: null,
});

test("keeps a lease while its server runs, also when the clock steps, and returns it on stop", async (t) => {
  const { clock, newLease, isLive } = await open(t);
  const [lease, other] = [newLease(), newLease()];
  await lease.start();
  await other.start();
  const { id } = lease;
  assert.notEqual(id, other.id);
  for (const stepMs of [0, 86_400_000, -86_400_000]) {
    clock.step(stepMs);
    await clock.advance(600_000);
    assert.equal(lease.id, id, `after a step of ${stepMs} ms`);
  }
  await lease.stop();
  assert.equal(await isLive(id), false);
  assert.equal(await isLive(other.id), true);
});

test("refuses to start a server whose artifacts are elsewhere than those of a running one", async (t) => {
  const { newLease, isLive } = await open(t);
  const lease = newLease();
  await lease.start();
  const stranger = newLease("elsewhere");
  await assert.rejects(stranger.start(), { code: "conflict", message: /one folder \(HONE_BLOBS\)/ });
  assert.deepEqual([await isLive(lease.id), await isLive(stranger.id)], [true, false]);
  await lease.stop();
  await newLease("elsewhere").start();
});

test("ends the lease of a silent server, which continues under another id when it is back", async (t) => {
  let isCutOff = false;
  const { clock, newLease, isLive } = await open(t, (servers) => ({
    ...servers,
    renew: (...args) => (isCutOff ? Promise.reject(new Error("no way there")) : servers.renew(...args)),
  }));
  const lease = newLease();
  await lease.start();
  const { id } = lease;
  isCutOff = true;
  await clock.advance(45_000);
  assert.equal(await isLive(id), true);
  await clock.advance(75_000);
  assert.equal(await isLive(id), false);
  isCutOff = false;
  await clock.advance(15_000);
  assert.notEqual(lease.id, id);
  assert.equal(await isLive(lease.id), true);
});

test("starts a server whose lease cannot be stored yet, and stores it once possible", async (t) => {
  let isFull = true;
  const { clock, newLease, isLive } = await open(t, (servers) => ({
    ...servers,
    create: (...args) => (isFull ? Promise.reject(new Error("The disk is full.")) : servers.create(...args)),
  }));
  const lease = newLease();
  await lease.start();
  isFull = false;
  await clock.advance(15_000);
  assert.equal(await isLive(lease.id), true);
});

test(
  "shares leases on one PostgreSQL between servers with clocks ten minutes apart, and reports the offset",
  { skip: withoutPostgres },
  async (t) => {
    const { url, drop } = await createPostgres();
    t.after(drop);
    const said: string[] = [];
    const logger = { ...silentLogger, warn: (_fields: object, message: string) => void said.push(message) };
    const start = async (aheadMs: number) => {
      const own = new FakeClock(new Date(Date.now() + aheadMs));
      const stores = await openStores(openPostgres({ url, connections: 1 }), own);
      t.after(() => stores.close());
      const { servers, clock } = stores;
      const base = { servers, baseModels: ["tiny"], artifacts: "shared", clock, logger };
      const lease = new ServerLease(base, jobSettings.with());
      await lease.start();
      t.after(() => lease.stop());
      return { own, lease, servers };
    };
    const all = [await start(0), await start(600_000), await start(-600_000)];
    assert.equal(said.filter((message) => message.includes("clock")).length, 2);
    const ids = all.map(({ lease }) => lease.id);
    // At each of three heartbeats, each server renews its own lease and deletes expired leases.
    for (let sign = 1; sign <= 3; sign++)
      for (const { own } of all) {
        await own.advance(15_000);
        while (own.sleepingCount === 0) await new Promise((resolve) => setImmediate(resolve));
      }
    assert.deepEqual(
      all.map(({ lease }) => lease.id),
      ids,
      "none has lost its lease",
    );
    for (const id of ids) assert.equal(await all[0].servers.has(id), true);
  },
);

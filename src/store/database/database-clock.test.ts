// Tests that servers follow the database's time, independent of their own clocks, even if the database answers slowly.
import assert from "node:assert/strict";
import { test } from "node:test";
import { FakeClock } from "../../base/domain/testing/fake-clock.ts";
import { createDatabaseClock } from "./database-clock.ts";

const start = Date.UTC(2026, 10, 21, 12);

/**
 * Returns a machine whose clock is `aheadMs` ahead of the database's. Questions to the database and its answers take
 * the time that the test sets.
 */
function machine(aheadMs: number) {
  const own = new FakeClock(new Date(start + aheadMs));
  const way = { thereMs: 0, backMs: 0 };
  const shared = createDatabaseClock(own, async () => {
    await own.advance(way.thereMs);
    const time = new Date(start + own.monotonicMs());
    await own.advance(way.backMs);
    return time;
  });
  /** Returns the error of the shared clock in milliseconds, compared with the database's time. */
  const faultMs = (): number => shared.now().getTime() - (start + own.monotonicMs());
  return { own, way, shared, faultMs };
}

test("follows the database's time on a machine whose clock is minutes off, and reports the offset", async () => {
  for (const aheadMs of [0, 600_000, -600_000]) {
    const { own, shared, faultMs } = machine(aheadMs);
    await shared.synchronize();
    assert.deepEqual([faultMs(), shared.aheadMs()], [0, aheadMs]);
    await own.advance(3_600_000);
    assert.equal(faultMs(), 0);
    own.step(86_400_000);
    assert.deepEqual([faultMs(), shared.aheadMs()], [0, aheadMs + 86_400_000]);
    await shared.synchronize();
    assert.equal(faultMs(), 0);
  }
});

test("errs by at most half of a slow answer's time, and keeps an earlier better estimate", async () => {
  const { way, shared, faultMs } = machine(0);
  way.thereMs = 2000;
  await shared.synchronize();
  assert.equal(faultMs(), 1000);
  way.thereMs = 0;
  await shared.synchronize();
  assert.equal(faultMs(), 0);
  way.backMs = 30_000;
  await shared.synchronize();
  assert.equal(faultMs(), 0);
});

test("follows a database whose clock was set as soon as it is asked", async () => {
  const own = new FakeClock(new Date(start));
  let aheadMs = 0;
  const shared = createDatabaseClock(own, async () => new Date(own.now().getTime() + aheadMs));
  await shared.synchronize();
  aheadMs = -60_000;
  assert.equal(shared.aheadMs(), 0);
  await shared.synchronize();
  assert.equal(shared.aheadMs(), 60_000);
});

test("continues from the last known time if the database does not answer", async () => {
  const own = new FakeClock(new Date(start));
  let isAway = false;
  const shared = createDatabaseClock(own, async () => {
    if (isAway) throw new Error("away");
    return new Date(start);
  });
  await shared.synchronize();
  isAway = true;
  await own.advance(5000);
  await assert.rejects(shared.synchronize(), /away/);
  assert.equal(shared.now().getTime(), start + 5000);
});

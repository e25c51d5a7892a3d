import assert from "node:assert/strict";
import { test } from "node:test";
import { seededRandom } from "../../../base/domain/random.ts";
import { searchSeeds } from "../../../base/domain/testing/search.ts";
import { CallTimes, expectedMs, type CallWork } from "./call-times.ts";

const work = (tokenCount: number, pairCount = 0): CallWork => ({ tokenCount, pairCount });

const expected = (times: CallTimes, of: CallWork): number => {
  const { later } = times.costs;
  assert.ok(later !== null);
  return expectedMs(later, of);
};

test("has no estimate for a kind of call before the first one", () => {
  const times = new CallTimes();
  times.observe("first", work(64), 10);
  assert.equal(times.costs.later, null);
  assert.ok(times.costs.first !== null);
});

test("expects a call to take as long as the last one", () => {
  const times = new CallTimes();
  times.observe("later", work(64, 4096), 33);
  assert.ok(Math.abs(expected(times, work(64, 4096)) - 33) < 1e-9);
  assert.ok(expected(times, work(128, 8192)) < 66, "a call has a fixed cost");
});

test("learns any line from calls of random sizes, at any speed of the machine", () => {
  for (const seed of searchSeeds(8)) {
    const random = seededRandom("call times", seed);
    const scale = 10 ** (4 * random.uniform() - 2);
    const truth = {
      callMs: 100 * scale * random.uniform(),
      tokenMs: scale * (0.1 + random.uniform()),
      pairMs: 1e-3 * scale * random.uniform(),
    };
    const randomWork = (): CallWork => {
      const count = 8 * (1 + random.index(64));
      return work(count, count * random.index(2000));
    };
    const times = new CallTimes();
    for (let call = 0; call < 2000; call++) {
      const each = randomWork();
      times.observe("later", each, expectedMs(truth, each));
    }
    for (let call = 0; call < 20; call++) {
      const each = randomWork();
      const ratio = expected(times, each) / expectedMs(truth, each);
      assert.ok(ratio > 0.7 && ratio < 1.4, `seed ${seed}: ${ratio}`);
    }
  }
});

test("one delayed call changes little", () => {
  const times = new CallTimes();
  for (let call = 0; call < 50; call++) times.observe("later", work(64), 20);
  times.observe("later", work(64), 2000);
  assert.ok(expected(times, work(64)) < 24);
});

test("forgets a delayed first call with the next one", () => {
  const times = new CallTimes();
  times.observe("later", work(64), 2000);
  times.observe("later", work(64), 20);
  assert.ok(Math.abs(expected(times, work(64)) - 20) < 1e-9);
});

test("follows a machine that becomes slower, and one that becomes faster", () => {
  const times = new CallTimes();
  for (const ms of [20, 200, 5]) {
    for (let call = 0; call < 40; call++) times.observe("later", work(64, 1000), ms);
    assert.ok(Math.abs(expected(times, work(64, 1000)) - ms) < 0.1 * ms, `${ms}`);
  }
});

test("expects no time for calls that take none", () => {
  const times = new CallTimes();
  for (let call = 0; call < 3; call++) times.observe("later", work(64, 1000), 0);
  assert.equal(expected(times, work(64, 1000)), 0);
});

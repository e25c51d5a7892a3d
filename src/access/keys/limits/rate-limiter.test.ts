import assert from "node:assert/strict";
import { test } from "node:test";
import {
  LimitRefusal,
  noLimits,
  type KeyLimits,
  type Limited,
  type LimitStore,
} from "../../../base/domain/keys/limits.ts";
import { FakeClock } from "../../../base/domain/testing/fake-clock.ts";
import { storesInMemory } from "../../../store/database/testing/stores-in-memory.ts";
import { createMetrics } from "../../../base/telemetry/metrics.ts";
import { createRateLimiter, type RateLimiter } from "./rate-limiter.ts";

const keyWith = (limits: Partial<KeyLimits>, subject: Limited["subject"] = "key:k"): Limited => ({
  subject,
  name: subject === "key:k" ? "This key" : 'The entity "e"',
  limits: { ...noLimits, ...limits },
});

/** Returns the rate limiters of `count` servers that share one database. */
async function servers(count: number, isShared = true) {
  const clock = new FakeClock();
  const { limits: store, servers: leases } = await storesInMemory();
  const faults: unknown[] = [];
  const metrics = createMetrics({ processMetrics: false });
  let exchanges = 0;
  let isAway = false;
  const counted: Pick<LimitStore, "isShared" | "exchange" | "sweepSlots"> = {
    ...store,
    isShared,
    exchange: async (asked) => {
      exchanges += 1;
      if (isAway) throw new Error("the database is away");
      return store.exchange(asked);
    },
  };
  const limiters: RateLimiter[] = [];
  for (let index = 0; index < count; index++) {
    const id = `s${index}`;
    await leases.create(id, {
      until: new Date(clock.now().getTime() + 60_000),
      baseModels: [],
      artifacts: "shared",
    });
    limiters.push(
      createRateLimiter({
        store: counted,
        clock,
        serverId: () => id,
        onFault: (error) => void faults.push(error),
        metrics: index === 0 ? metrics : createMetrics({ processMetrics: false }),
      }),
    );
  }
  const setAway = (away: boolean): void => void (isAway = away);
  return {
    clock,
    limiters: limiters as [RateLimiter, RateLimiter],
    faults,
    exchanges: () => exchanges,
    metrics,
    setAway,
  };
}

async function refusalOf(admitted: Promise<unknown>): Promise<LimitRefusal> {
  try {
    await admitted;
  } catch (error) {
    if (error instanceof LimitRefusal) return error;
    throw error;
  }
  throw new Error("it is admitted");
}

test("admits a key up to its limit across all servers, and again at the announced time", async () => {
  const { clock, limiters, faults, metrics } = await servers(2);
  const [one, other] = limiters;
  const limited = [keyWith({ requestsPerMinute: 10 })];
  for (let index = 0; index < 6; index++) (await one.admit(limited)).leave();
  await clock.advance(1000);
  const { standings } = await other.admit(limited);
  assert.deepEqual(
    [standings.requests?.limit, standings.requests?.remaining, standings.tokens],
    [10, 3, null],
  );
  for (let index = 0; index < 3; index++) (await other.admit(limited)).leave();
  await clock.advance(1000);
  for (const limiter of limiters) {
    const { code, message, standings: at, retryAfterSeconds = 0 } = await refusalOf(limiter.admit(limited));
    assert.equal(code, "overloaded");
    assert.match(
      message,
      /^This key may send 10 requests a minute and has sent them\. Try again in \d+ s\.$/,
    );
    assert.equal(at.requests?.remaining, 0);
    assert.ok(retryAfterSeconds > 50 && retryAfterSeconds <= 70, String(retryAfterSeconds));
    assert.ok((at.requests?.resetSeconds ?? 0) >= retryAfterSeconds);
  }
  const { retryAfterSeconds = 0 } = await refusalOf(one.admit(limited));
  await clock.advance(retryAfterSeconds * 1000);
  (await one.admit(limited)).leave();
  for (const limiter of limiters) await limiter.stop();
  assert.deepEqual(faults, []);
  assert.match(
    (await metrics.expose()).text,
    /hone_limit_refusals_total\{limit="requestsPerMinute",of="key"\} 2/,
  );
});

test("never exceeds the limit when servers admit concurrently", async () => {
  for (const limits of [{ requestsPerMinute: 20 }, { concurrentRequests: 20 }]) {
    const { limiters } = await servers(2);
    const limited = [keyWith(limits)];
    const admitted = await Promise.allSettled(
      Array.from({ length: 40 }, (_, index) => limiters[index < 25 ? 0 : 1].admit(limited)),
    );
    assert.equal(admitted.filter(({ status }) => status === "fulfilled").length, 20);
    for (const limiter of limiters) await limiter.stop();
  }
});

test("counts concurrent requests in one exchange, and later ones in another", async () => {
  const { clock, limiters, exchanges } = await servers(1);
  const limited = [keyWith({ requestsPerMinute: 100 }), keyWith({ concurrentRequests: 100 }, "entity:e")];
  const inside = await Promise.all(Array.from({ length: 20 }, () => limiters[0].admit(limited)));
  assert.equal(exchanges(), 1);
  for (const admission of inside) admission.leave();
  await clock.advance(500);
  assert.equal(exchanges(), 2);
  await clock.advance(60_000);
  assert.equal(exchanges(), 2, "nothing is asked while nobody comes");
  await limiters[0].stop();
});

test("reads the initial counts of a single server once, and then decides locally", async () => {
  const { clock, limiters, exchanges } = await servers(2, false);
  const [before, server] = limiters;
  const limited = [keyWith({ requestsPerMinute: 3 })];
  await before.admit(limited);
  await before.stop();
  const asked = exchanges();
  await server.admit(limited);
  assert.equal(exchanges(), asked + 1);
  await server.admit(limited);
  await refusalOf(server.admit(limited));
  assert.ok(exchanges() <= asked + 2);
  await clock.advance(500);
  assert.ok(exchanges() <= asked + 3);
  await server.stop();
});

test("counts running requests on all servers until they end or their server's lease expires", async () => {
  const { clock, limiters } = await servers(2);
  const [one, other] = limiters;
  const limited = [keyWith({ concurrentRequests: 2 })];
  const running = [await one.admit(limited), await one.admit(limited)];
  assert.match(
    (await refusalOf(one.admit(limited))).message,
    /has 2 requests being answered, and may have 2/,
  );
  await clock.advance(1000);
  assert.equal((await refusalOf(other.admit(limited))).retryAfterSeconds, 1);
  running[0]?.leave();
  running[0]?.leave();
  await clock.advance(1000);
  const third = await other.admit(limited);
  await refusalOf(other.admit(limited));
  // The first server died while it ran a request. That request stops counting when the dead server's lease expires.
  await clock.advance(60_000);
  const fourth = await other.admit(limited);
  await refusalOf(other.admit(limited));
  for (const admission of [third, fourth]) admission.leave();
  await other.stop();
});

test("reserves tokens before their use, and returns unused ones", async () => {
  const { clock, limiters } = await servers(2);
  const [one, other] = limiters;
  const limited = [keyWith({ tokensPerMinute: 100 })];
  const first = await one.admit(limited);
  const taken = first.reserve(70);
  assert.equal(first.standings.tokens?.remaining, 30);
  const second = await one.admit(limited);
  assert.match(
    (await refusalOf(Promise.resolve().then(() => second.reserve(40)))).message,
    /may use 100 tokens a minute; 70 are used or spoken for, and this request needs 40/,
  );
  taken.use(20);
  taken.settle();
  taken.settle();
  second.reserve(40).settle();
  assert.equal(first.standings.tokens?.remaining, 80);
  await clock.advance(1000);
  const third = await other.admit(limited);
  assert.equal(third.standings.tokens?.remaining, 80);
  // Tokens used beyond the reserved number count as soon as they are used.
  const more = third.reserve(10);
  more.use(95);
  more.settle();
  await refusalOf(other.admit(limited));
  await clock.advance(70_000);
  assert.equal((await one.admit(limited)).standings.tokens?.remaining, 100);
  for (const limiter of limiters) await limiter.stop();
});

test("admits an amount larger than a minute's limit when nothing else counts, also in parts", async () => {
  const { limiters } = await servers(1);
  const limited = [keyWith({ tokensPerMinute: 100, queuePercent: 10 })];
  const large = await limiters[0].admit(limited);
  for (let part = 0; part < 3; part++) large.reserve(80);
  for (let part = 0; part < 30; part++) large.wait("tiny", 100);
  await refusalOf(limiters[0].admit(limited));
  await limiters[0].stop();
});

test("gives a key its share of each model's queue", async () => {
  const { limiters } = await servers(1);
  const limited = [keyWith({ queuePercent: 50 }), keyWith({ queuePercent: 75 }, "entity:e")];
  const other = [keyWith({ queuePercent: 75 }, "entity:e")];
  const admit = (all: readonly Limited[]) => limiters[0].admit(all);
  const [first, second] = [await admit(limited), await admit(limited)];
  const begin = first.wait("tiny", 4);
  second.wait("tiny", 4);
  const third = await admit(limited);
  assert.match(
    (await refusalOf(Promise.resolve().then(() => third.wait("tiny", 4)))).message,
    /^This key has 2 requests waiting for this model, and may have 2, 50 % of the 4 that may wait/,
  );
  third.wait("small", 4);
  (await admit(other)).wait("tiny", 4);
  const fifth = await admit(other);
  assert.match(
    (await refusalOf(Promise.resolve().then(() => fifth.wait("tiny", 4)))).message,
    /^The entity "e" has 3/,
  );
  begin();
  begin();
  fifth.wait("tiny", 4);
  await refusalOf(Promise.resolve().then(async () => (await admit(other)).wait("tiny", 4)));
  await limiters[0].stop();
});

test("decides by known counts while the database is away, and adds its own later", async () => {
  const { clock, limiters, faults, setAway } = await servers(2);
  const [one, other] = limiters;
  const limited = [keyWith({ requestsPerMinute: 3 })];
  setAway(true);
  for (let index = 0; index < 3; index++) (await one.admit(limited)).leave();
  await refusalOf(one.admit(limited));
  await clock.advance(1000);
  assert.ok(faults.length >= 2);
  setAway(false);
  await clock.advance(1000);
  await refusalOf(other.admit(limited));
  for (const limiter of limiters) await limiter.stop();
});

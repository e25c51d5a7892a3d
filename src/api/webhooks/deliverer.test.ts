// Deliveries of webhook events to receivers on this machine, over real connections and with a fake clock.
import assert from "node:assert/strict";
import { setImmediate as nextTurn } from "node:timers/promises";
import { test, type TestContext } from "node:test";
import { FakeClock } from "../../base/domain/testing/fake-clock.ts";
import { seededRandom } from "../../base/domain/random.ts";
import type { NewWebhook } from "../../base/domain/webhooks/webhook.ts";
import { sampleFeedback } from "../../store/database/contract/storage-under-test.ts";
import type { Stores } from "../../store/database/stores.ts";
import { storesInMemory } from "../../store/database/testing/stores-in-memory.ts";
import { createMetrics } from "../../base/telemetry/metrics.ts";
import { silentLogger } from "../../base/telemetry/testing/silent-logger.ts";
import { readEgressAllowlist } from "./egress-allowlist.ts";
import { Deliverer } from "./deliverer.ts";
import { waitMs } from "./retry-plan.ts";
import { webhookSettings, type WebhookSettings } from "./settings.ts";
import { receive, type Receiver } from "./testing/receiver.ts";

const hourMs = 3_600_000;

interface World {
  readonly stores: Stores;
  readonly clock: FakeClock;
  readonly add: (id: string, receiver: Pick<Receiver, "url">, changes?: Partial<NewWebhook>) => Promise<void>;
  /** Stores one feedback record for each id, in order to cause events. */
  readonly write: (...ids: readonly string[]) => Promise<void>;
  /** Resolves when the webhook's deliveries have reached the expected states. */
  readonly settled: (id: string, expected: readonly string[]) => Promise<void>;
}

async function worldOf(t: TestContext, settings: Partial<WebhookSettings> = {}): Promise<World> {
  const clock = new FakeClock();
  const stores = await storesInMemory(clock);
  const deliverer = new Deliverer(
    {
      store: stores.webhooks,
      writeEventBody: async ({ type, subject }) => JSON.stringify({ type, subject }),
      allowed: readEgressAllowlist(["127.0.0.1"]),
      userAgent: "hone-test",
      clock,
      random: seededRandom("deliverer"),
      metrics: createMetrics({ processMetrics: false }),
      logger: silentLogger,
    },
    webhookSettings.with(settings),
  );
  t.after(() => deliverer.stop());
  await deliverer.start();
  const statesOf = async (id: string) => {
    const page = { after: null, limit: 100, order: "asc" } as const;
    const { items } = await stores.webhooks.listDeliveries(id, { state: null }, page);
    return items.map(({ state, attemptCount }) => `${state} ${attemptCount}`);
  };
  return {
    stores,
    clock,
    add: (id, { url }, changes = {}) =>
      stores.webhooks.create(
        {
          id,
          entity: "team",
          url,
          events: ["feedback.created"],
          projectId: null,
          feedbackType: null,
          recordsMax: 1,
          description: null,
          secret: "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw",
          createdAt: clock.now(),
          ...changes,
        },
        { countMax: 100 },
      ),
    write: async (...ids) => {
      await stores.feedback.create(ids.map((id) => sampleFeedback(id)));
      await clock.advance(1000);
    },
    settled: async (id, expected) => {
      for (let turn = 0; turn < 100_000; turn++) {
        const states = await statesOf(id);
        if (String(states) === String(expected)) return;
        await nextTurn();
      }
      assert.deepEqual(await statesOf(id), expected);
    },
  };
}

test("posts an event once, signed, and records its delivery", async (t) => {
  const { add, write, settled, stores, clock } = await worldOf(t);
  const receiver = await receive(t, (response) => void response.writeHead(200).end("thanks"));
  await add("w", receiver);
  await write("a");
  await settled("w", ["delivered 1"]);
  const [{ headers, body }] = receiver.received;
  assert.deepEqual(JSON.parse(body), {
    type: "feedback.created",
    subject: { kind: "feedback", projectId: "team/games", ids: ["a"] },
  });
  assert.equal(headers["user-agent"], "hone-test");
  const page = { after: null, limit: 100, order: "asc" } as const;
  const [delivery] = (await stores.webhooks.listDeliveries("w", { state: null }, page)).items;
  assert.equal(headers["webhook-id"], delivery.id);
  assert.equal(headers["webhook-timestamp"], String(Math.floor(clock.now().getTime() / 1000)));
  const [{ status, error, answer }] = delivery.attempts;
  assert.deepEqual([status, error, answer], [200, null, "thanks"]);
  await clock.advance(60_000);
  assert.equal(receiver.received.length, 1);
});

test("retries a failing delivery at growing intervals, with the same id, until the retry period ends", async (t) => {
  const { add, write, settled, clock } = await worldOf(t, { retryHours: 0.21 });
  const receiver = await receive(t, (response) => void response.writeHead(500).end());
  await add("w", receiver);
  await write("a");
  const waits = [5, 15, 45, 135, 405];
  for (const [index, seconds] of waits.entries()) {
    await settled("w", [`pending ${index + 1}`]);
    assert.equal(receiver.received.length, index + 1);
    // Jitter shortens a wait by at most half, so no attempt may come before half of the wait has passed.
    await clock.advance(seconds * 500 - 1000);
    assert.equal(receiver.received.length, index + 1);
    await clock.advance(seconds * 500 + 2000);
  }
  // The next wait would be at least 607 s, which is more than what remains of the retry period.
  await settled("w", [`failed ${waits.length + 1}`]);
  assert.equal(new Set(receiver.received.map(({ headers }) => headers["webhook-id"])).size, 1);
  await clock.advance(60_000);
  assert.equal(receiver.received.length, waits.length + 1);
});

test("limits waits to six hours, shortens them by up to half at random, and respects the receiver's Retry-After", () => {
  assert.deepEqual(
    [1, 2, 3, 30].map((count) => [waitMs(count, 0, null), waitMs(count, 1, null)]),
    [
      [2500, 5000],
      [7500, 15_000],
      [22_500, 45_000],
      [3 * hourMs, 6 * hourMs],
    ],
  );
  assert.deepEqual([waitMs(1, 0, 60), waitMs(1, 0, 1), waitMs(1, 0, 1e9)], [60_000, 2500, 6 * hourMs]);
});

test("records a late answer, a redirect and a broken connection as failed attempts", async (t) => {
  const { add, write, clock, stores } = await worldOf(t);
  const silent = await receive(t, () => undefined);
  const moved = await receive(t, (response) => void response.writeHead(302, { location: "/" }).end());
  const broken = await receive(t, (response) => void response.destroy());
  for (const [id, receiver] of Object.entries({ silent, moved, broken })) await add(id, receiver);
  await write("a");
  await silent.came(1);
  await clock.advance(15_000);
  const errorOf = async (id: string) => {
    const page = { after: null, limit: 1, order: "asc" } as const;
    for (;;) {
      const { items } = await stores.webhooks.listDeliveries(id, { state: null }, page);
      const [attempt] = items[0].attempts;
      if (attempt !== undefined) return attempt.error;
      await nextTurn();
    }
  };
  assert.equal(await errorOf("silent"), "no answer within 15 s");
  assert.equal(await errorOf("moved"), "status 302; redirects are not followed");
  assert.match((await errorOf("broken")) ?? "", /socket hang up|ECONNRESET/);
});

test("delays no other webhook or entity while a receiver does not answer", async (t) => {
  const { add, write, settled } = await worldOf(t, {
    sendingMax: 8,
    sendingPerEntity: 6,
    sendingPerWebhook: 4,
  });
  const dead = await receive(t, () => undefined);
  const [good, foreign] = [await receive(t), await receive(t)];
  await add("dead", dead);
  await add("good", good);
  await add("foreign", foreign, { entity: "other" });
  await write(...Array.from({ length: 20 }, (_, index) => `r${index}`));
  await settled(
    "good",
    Array.from({ length: 20 }, () => "delivered 1"),
  );
  assert.equal(dead.received.length, 4);
});

test("disables a webhook, with a reason, if its receiver fails for too long or is gone", async (t) => {
  const { add, write, settled, clock, stores } = await worldOf(t, { disableHours: 0.05 });
  const receiver = await receive(t, (response) => void response.writeHead(500).end());
  const gone = await receive(t, (response) => void response.writeHead(410).end());
  await add("w", receiver);
  await add("gone", gone);
  await write("a");
  await settled("gone", ["failed 1"]);
  await settled("w", ["pending 1"]);
  while ((await stores.webhooks.find("gone"))?.disabled === null) await nextTurn();
  assert.match((await stores.webhooks.find("gone"))?.disabled?.reason ?? "", /410/);
  assert.equal((await stores.webhooks.find("w"))?.disabled, null);
  while ((await stores.webhooks.find("w"))?.disabled === null) {
    await clock.advance(5000);
    await nextTurn();
  }
  const reason = (await stores.webhooks.find("w"))?.disabled?.reason ?? "";
  assert.match(reason, /No delivery succeeded for 0\.05 h.*status 500/);
  // The server stores no events for a disabled webhook.
  const before = receiver.received.length;
  await write("b");
  assert.equal(receiver.received.length, before);
});

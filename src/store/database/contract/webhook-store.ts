// The contract that every WebhookStore must pass. Feedback and job stores must pass it too, because they write the
// events.
import assert from "node:assert/strict";
import { test } from "node:test";
import type { Delivery, NewWebhook } from "../../../base/domain/webhooks/webhook.ts";
import { attemptsKept, type DeliveryOutcome } from "../../../base/domain/webhooks/webhook-store.ts";
import type { Stores } from "../stores.ts";
import {
  authorOf,
  batchOf,
  firstPage,
  type MakeStorage,
  moment,
  openTwice,
  sampleCounts,
  sampleFeedback,
  sampleJob,
  storeModel,
  storeServer,
} from "./storage-under-test.ts";

function sampleWebhook(id: string, changes: Partial<NewWebhook> = {}): NewWebhook {
  return {
    id,
    entity: "team",
    url: "https://hooks.example.com/",
    events: ["feedback.created", "feedback.replaced", "feedback.purged", "training_ended", "training_failed"],
    projectId: null,
    feedbackType: null,
    recordsMax: 100,
    description: null,
    secret: "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw",
    createdAt: moment(0),
    ...changes,
  };
}

const limits = { countMax: 100 };
const all = { state: null } as const;
const ever = new Date(Date.UTC(9999, 0));

async function storesWith(
  makeStorage: MakeStorage,
  context: Parameters<MakeStorage>[0],
  ...webhooks: readonly NewWebhook[]
): Promise<Stores> {
  const stores = await (await makeStorage(context))();
  for (const webhook of webhooks) await stores.webhooks.create(webhook, limits);
  return stores;
}

/** Returns the content of each delivery to the webhook, oldest first. */
async function toldTo({ webhooks }: Stores, id: string): Promise<readonly unknown[]> {
  const { items } = await webhooks.listDeliveries(id, all, firstPage);
  return items.map(({ type, subject }) => [
    type,
    "jobId" in subject ? subject.jobId : "ids" in subject ? subject.ids : subject.cycleId,
  ]);
}

const attemptAt = (second: number, error: string | null = null) => ({
  at: moment(second),
  durationMs: 5,
  status: error === null ? 204 : 500,
  error,
  answer: "NUL \u0000 and a lone half \ud83d",
});

const content = (id: string, changes: Parameters<typeof sampleFeedback>[1] = {}) => {
  const { id: _id, createdAt: _at, ...rest } = sampleFeedback(id, changes);
  return rest;
};

/** Registers the tests that a webhook store must pass. */
export function checkWebhookStore(makeStorage: MakeStorage): void {
  checkWebhooks(makeStorage);
  checkEvents(makeStorage);
  checkDeliveries(makeStorage);
}

function checkWebhooks(makeStorage: MakeStorage): void {
  test("returns a webhook unchanged, and changes, disables, enables and deletes it", async (t) => {
    const open = await makeStorage(t);
    const first = await open();
    const webhook = sampleWebhook("w", { feedbackType: 'NUL \u0000 "x"', projectId: "team/games" });
    await first.webhooks.create(webhook, limits);
    await first.close();
    const { webhooks } = await open();
    const whole = { ...webhook, disabled: null, failingSince: null, pendingCount: 0 };
    assert.deepEqual(await webhooks.find("w"), whole);
    assert.equal(await webhooks.find("none"), null);
    const choice = {
      url: "http://a/",
      events: ["feedback.purged"],
      feedbackType: null,
      recordsMax: 1,
      description: null,
    } as const;
    assert.deepEqual(await webhooks.change("w", choice), { ...whole, ...choice });
    assert.deepEqual(await webhooks.change("w", {}), { ...whole, ...choice });
    assert.equal(await webhooks.change("none", choice), null);
    await webhooks.disable("w", "why", moment(5));
    await webhooks.disable("w", "another reason", moment(6));
    assert.deepEqual((await webhooks.find("w"))?.disabled, { at: moment(5), reason: "why" });
    assert.equal((await webhooks.enable("w"))?.disabled, null);
    assert.equal(await webhooks.enable("none"), null);
    assert.deepEqual([await webhooks.delete("w"), await webhooks.delete("w")], [true, false]);
  });

  test("limits the webhooks of an entity, and lists only its own", async (t) => {
    const { webhooks } = await storesWith(
      makeStorage,
      t,
      sampleWebhook("b"),
      sampleWebhook("other", { entity: "other" }),
    );
    const added = ["a", "c"].map((id) => webhooks.create(sampleWebhook(id), { countMax: 2 }));
    const outcomes = await Promise.allSettled(added);
    assert.deepEqual(outcomes.map(({ status }) => status).sort(), ["fulfilled", "rejected"]);
    await assert.rejects(webhooks.create(sampleWebhook("d"), { countMax: 2 }), { code: "conflict" });
    const idsOf = async (entity: string | null, after: string | null = null) =>
      (await webhooks.list({ entity }, { ...firstPage, after })).items.map(({ id }) => id);
    assert.equal((await idsOf("team")).length, 2);
    assert.deepEqual(await idsOf("other"), ["other"]);
    assert.deepEqual((await idsOf(null)).slice(0, 2), ["b", "other"]);
    await assert.rejects(idsOf("other", "b"), { code: "invalid" });
  });
}

function checkEvents(makeStorage: MakeStorage): void {
  test("writes an event with each write, replacement and purge, but not for retries and refused batches", async (t) => {
    const stores = await storesWith(makeStorage, t, sampleWebhook("w"));
    const { feedback } = stores;
    await feedback.create([sampleFeedback("a"), sampleFeedback("b"), sampleFeedback("a")]);
    await feedback.create([sampleFeedback("a")]);
    await feedback.create([]);
    const batch = [sampleFeedback("d"), sampleFeedback("e")];
    for (const isNew of [true, false])
      assert.equal(await feedback.createBatch(batchOf(feedback, batch), authorOf(batch[0])), isNew);
    const changed = sampleFeedback("a", { contentHash: "changed" });
    await assert.rejects(feedback.create([sampleFeedback("c"), changed]), { code: "conflict" });
    await feedback.replace("team/games", "a", content("a", { contentHash: "second" }), moment(1));
    assert.equal(await feedback.replace("team/games", "none", content("a"), moment(1)), null);
    await feedback.delete("team/games", ["none", "a"]);
    await feedback.delete("team/games", ["a"]);
    const told = await toldTo(stores, "w");
    assert.deepEqual(told, [
      ["feedback.created", ["a", "b"]],
      ["feedback.created", ["d", "e"]],
      ["feedback.replaced", ["a"]],
      ["feedback.purged", ["a"]],
    ]);
    assert.equal((await stores.webhooks.find("w"))?.pendingCount, 4);
  });

  test("writes only the requested events of the entity, split by the webhook's limit", async (t) => {
    const stores = await storesWith(
      makeStorage,
      t,
      sampleWebhook("two", { recordsMax: 2 }),
      sampleWebhook("project", { projectId: "team/other" }),
      sampleWebhook("type", { feedbackType: "note", events: ["feedback.created"] }),
      sampleWebhook("purged", { events: ["feedback.purged"] }),
      sampleWebhook("foreign", { entity: "tea" }),
      sampleWebhook("disabled"),
    );
    await stores.webhooks.disable("disabled", "why", moment(1));
    await stores.feedback.create([
      sampleFeedback("a"),
      sampleFeedback("b", { feedbackType: "note" }),
      sampleFeedback("c"),
      sampleFeedback("a", { projectId: "team/other" }),
    ]);
    await stores.feedback.delete("team/games", ["b"]);
    const created = (...ids: readonly string[]) => ["feedback.created", ids];
    const two = await toldTo(stores, "two");
    assert.deepEqual(
      two.slice(0, 3).map(String).sort(),
      [created("a", "b"), created("c"), created("a")].map(String).sort(),
    );
    assert.deepEqual(two[3], ["feedback.purged", ["b"]]);
    assert.deepEqual(await toldTo(stores, "project"), [created("a")]);
    assert.deepEqual(await toldTo(stores, "type"), [created("b")]);
    assert.deepEqual(await toldTo(stores, "purged"), [["feedback.purged", ["b"]]]);
    assert.deepEqual(await toldTo(stores, "foreign"), []);
    assert.deepEqual(await toldTo(stores, "disabled"), []);
  });

  test("writes the end of a job to the webhooks of its project", async (t) => {
    const stores = await storesWith(
      makeStorage,
      t,
      sampleWebhook("w"),
      sampleWebhook("project", { projectId: "team/games" }),
      sampleWebhook("other", { projectId: "team/other" }),
      sampleWebhook("foreign", { entity: "foreign" }),
    );
    const { jobs } = stores;
    await storeModel(stores.models, "m");
    await storeServer(stores.servers);
    for (const id of ["won", "lost", "cancelled"]) await jobs.create(sampleJob(id, "m"), [], null);
    await jobs.claim("server", moment(1));
    const done = { owner: "server", version: null, counts: sampleCounts, at: moment(2), data: {} };
    await jobs.succeed("won", done);
    await assert.rejects(jobs.succeed("won", done), { code: "conflict" });
    await jobs.claim("server", moment(3));
    await jobs.end("lost", "failed", "why", moment(4));
    await jobs.requestCancel("cancelled", moment(5));
    const told = [
      ["training_ended", "won"],
      ["training_failed", "lost"],
      ["training_failed", "cancelled"],
    ];
    assert.deepEqual(await toldTo(stores, "w"), told);
    assert.deepEqual(await toldTo(stores, "project"), told);
    assert.deepEqual(await toldTo(stores, "other"), []);
    assert.deepEqual(await toldTo(stores, "foreign"), []);
  });
}

function checkDeliveries(makeStorage: MakeStorage): void {
  const claim = (owner: string, until: Date = ever, limit = 10, at: Date = ever) => ({
    owner,
    at,
    until,
    limit,
  });

  test("claims a delivery once, settles it for its owner, and makes it due again when the claim expires", async (t) => {
    const sides = await openTwice(makeStorage, t);
    const [{ webhooks, feedback }, other] = sides;
    await webhooks.create(sampleWebhook("w", { recordsMax: 1 }), limits);
    await feedback.create(Array.from({ length: 8 }, (_, index) => sampleFeedback(`${index}`)));
    assert.deepEqual(await webhooks.withDue(new Date(0)), []);
    assert.deepEqual(await other.webhooks.withDue(ever), [{ id: "w", entity: "team" }]);
    const later = new Date(ever.getTime() + 1000);
    const claimed = await Promise.all(
      [0, 1, 2, 3].map((index) =>
        sides[index % 2].webhooks.claim("w", claim(`owner ${index % 2}`, later, 2)),
      ),
    );
    const ids = claimed.flat().map(({ id }) => id);
    assert.deepEqual([ids.length, new Set(ids).size], [8, 8]);
    assert.deepEqual(await webhooks.withDue(ever), []);
    const [mine] = claimed[0];
    const delivered: DeliveryOutcome = { state: "delivered", at: moment(9) };
    await webhooks.settle(mine, "somebody else", attemptAt(8), delivered);
    assert.equal((await webhooks.findDelivery("w", mine.id))?.state, "pending");
    await webhooks.settle(mine, "owner 0", attemptAt(8), delivered);
    await webhooks.settle(mine, "owner 0", attemptAt(9, "late"), { state: "failed", at: moment(10) });
    const settled: Delivery = {
      ...mine,
      state: "delivered",
      dueAt: null,
      endedAt: moment(9),
      attempts: [attemptAt(8)],
      attemptCount: 1,
    };
    assert.deepEqual(await webhooks.findDelivery("w", mine.id), settled);
    assert.equal((await webhooks.find("w"))?.pendingCount, 7);
    // The server that had claimed the other deliveries has died, so another server may claim them.
    assert.equal((await webhooks.claim("w", claim("owner 2", ever, 10, later))).length, 7);
  });

  test("counts failed attempts, keeps the latest, and marks the webhook as failing since the first", async (t) => {
    const { webhooks, feedback } = await storesWith(makeStorage, t, sampleWebhook("w"));
    await feedback.create([sampleFeedback("a")]);
    for (let second = 0; second < attemptsKept + 2; second++) {
      const [delivery] = await webhooks.claim("w", claim("owner"));
      const outcome: DeliveryOutcome = { state: "pending", dueAt: moment(second + 1) };
      await webhooks.settle(delivery, "owner", attemptAt(second, `error ${second}`), outcome);
      assert.deepEqual((await webhooks.find("w"))?.failingSince, moment(0));
    }
    const [delivery] = await webhooks.claim("w", claim("owner"));
    assert.equal(delivery.attemptCount, attemptsKept + 2);
    assert.deepEqual(
      [delivery.attempts.length, delivery.attempts[0].error, delivery.attempts.at(-1)?.error],
      [attemptsKept, "error 2", `error ${attemptsKept + 1}`],
    );
    await webhooks.settle(delivery, "owner", attemptAt(99), { state: "delivered", at: moment(99) });
    const { failingSince, pendingCount } = (await webhooks.find("w")) ?? assert.fail();
    assert.deepEqual([failingSince, pendingCount], [null, 0]);
  });

  test("replays one ended delivery, or all that failed since a time, under the same id", async (t) => {
    const { webhooks, feedback } = await storesWith(makeStorage, t, sampleWebhook("w", { recordsMax: 1 }));
    await feedback.create(["0", "1", "2", "3"].map((id) => sampleFeedback(id)));
    const claimed = await webhooks.claim("w", claim("owner"));
    for (const [index, delivery] of claimed.slice(0, 3).entries())
      await webhooks.settle(delivery, "owner", attemptAt(index, "no"), {
        state: "failed",
        at: moment(index),
      });
    const [first, second, third, pending] = claimed;
    const options = { at: moment(50), countMax: 100 };
    assert.equal(await webhooks.replay("w", { id: pending.id }, options), 0);
    assert.equal(await webhooks.replay("none", { id: first.id }, options), 0);
    assert.equal(await webhooks.replay("w", { id: first.id }, options), 1);
    const again = await webhooks.findDelivery("w", first.id);
    assert.deepEqual(
      [again?.state, again?.dueAt, again?.triedSince, again?.attemptCount],
      ["pending", moment(50), moment(50), 1],
    );
    assert.equal(await webhooks.replay("w", { failedSince: moment(2) }, options), 1);
    assert.equal(await webhooks.replay("w", { failedSince: moment(0) }, { ...options, countMax: 1 }), 1);
    assert.equal(await webhooks.replay("w", { failedSince: moment(0) }, options), 0);
    assert.equal((await webhooks.find("w"))?.pendingCount, 4);
    const due = await webhooks.claim("w", claim("owner", ever, 10, moment(50)));
    assert.deepEqual(
      due.map(({ id }) => id),
      [first.id, second.id, third.id],
    );
  });

  test("lists deliveries by state in pages, and removes them by age, by count and with their webhook", async (t) => {
    const { webhooks, feedback } = await storesWith(
      makeStorage,
      t,
      sampleWebhook("w", { recordsMax: 1 }),
      sampleWebhook("v"),
    );
    await feedback.create(["0", "1", "2", "3", "4"].map((id) => sampleFeedback(id)));
    for (const [index, delivery] of (await webhooks.claim("w", claim("owner", ever, 4))).entries()) {
      const state = index % 2 === 0 ? "delivered" : "failed";
      await webhooks.settle(delivery, "owner", attemptAt(index), { state, at: moment(index) });
    }
    const everything = (await webhooks.listDeliveries("w", all, firstPage)).items;
    const ids = everything.map(({ id }) => id);
    const listed = async (...ask: Parameters<typeof webhooks.listDeliveries>) => {
      const { items, hasMore } = await webhooks.listDeliveries(...ask);
      return [items.map(({ id }) => ids.indexOf(id)), hasMore];
    };
    assert.deepEqual(await listed("w", { state: "failed" }, firstPage), [[1, 3], false]);
    assert.deepEqual(await listed("w", { state: "pending" }, firstPage), [[4], false]);
    const newest = { after: ids[4], limit: 2, order: "desc" } as const;
    assert.deepEqual(await listed("w", all, newest), [[3, 2], true]);
    assert.deepEqual(await listed("w", { state: "failed" }, { ...newest, after: ids[2] }), [[1], false]);
    const [ofOther] = (await webhooks.listDeliveries("v", all, firstPage)).items;
    await assert.rejects(listed("w", all, { ...firstPage, after: ofOther.id }), { code: "invalid" });
    assert.equal(await webhooks.findDelivery("w", ofOther.id), null);
    assert.equal(await webhooks.deleteEnded({ endedBefore: moment(2), countMax: 100 }), 2);
    assert.deepEqual(await listed("w", all, firstPage), [[2, 3, 4], false]);
    assert.equal(await webhooks.deleteEnded({ endedBefore: moment(0), countMax: 2 }), 1);
    assert.deepEqual(await listed("w", all, firstPage), [[3, 4], false]);
    await webhooks.disable("w", "why", moment(60));
    assert.deepEqual(await listed("w", { state: "failed" }, firstPage), [[3, 4], false]);
    assert.deepEqual(await webhooks.withDue(ever), [{ id: "v", entity: "team" }]);
    assert.equal((await webhooks.find("w"))?.pendingCount, 0);
    await webhooks.delete("w");
    assert.deepEqual(await listed("w", all, firstPage), [[], false]);
    assert.equal((await webhooks.listDeliveries("v", all, firstPage)).items.length, 1);
  });
}

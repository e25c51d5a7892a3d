// The contract that every LimitStore must pass. Key stores and job stores must pass it too, where limits concern them.
import assert from "node:assert/strict";
import { test } from "node:test";
import { noLimits, type LimitSubject, type SlotCounts } from "../../../../base/domain/keys/limits.ts";
import {
  type MakeStorage,
  moment,
  openTwice,
  sampleJob,
  sampleKey,
  sampleModel,
  storeModel,
} from "../storage-under-test.ts";

const counts = (subject: LimitSubject, slot: number, requests: number, tokens = 0): SlotCounts => ({
  subject,
  slot,
  requests,
  tokens,
});

const nothing = { serverId: "s", slots: [], running: [], subjects: [], sinceSlot: 0, now: moment(0) };

/** Registers the tests that a limit store must pass. */
export function checkLimitStore(makeStorage: MakeStorage): void {
  test("adds up the counts of all servers for a subject, including negative ones and those beyond 32 bits", async (t) => {
    const open = await makeStorage(t);
    const first = await open();
    const tokens = 3_000_000_000;
    const add = (...slots: readonly SlotCounts[]) => first.limits.exchange({ ...nothing, slots });
    await add(counts("key:a", 7, 1, tokens), counts("key:a", 6, 5), counts("entity:a", 7, 9));
    await add(counts("key:a", 7, 2, tokens));
    await add(counts("key:a", 7, 0, -1));
    const subjects = ["key:a"] as const;
    const own = { slots: [counts("key:a", 8, 1), counts("key:b", 8, 4)], subjects, sinceSlot: 8 };
    assert.deepEqual((await first.limits.exchange({ ...nothing, ...own })).slots, [counts("key:a", 8, 1)]);
    await first.close();
    const { limits } = await open();
    const read = async (asked: readonly LimitSubject[], sinceSlot: number) => {
      const { slots } = await limits.exchange({ ...nothing, subjects: asked, sinceSlot });
      return slots.toSorted((one, other) => one.slot - other.slot);
    };
    const whole = [counts("key:a", 7, 3, 2 * tokens - 1), counts("key:a", 8, 1)];
    assert.deepEqual(await read(["key:a"], 7), whole);
    assert.deepEqual(await read(["key:a", "key:none"], 0), [counts("key:a", 6, 5), ...whole]);
    assert.deepEqual(await read([], 0), []);
    await limits.sweepSlots(7);
    assert.deepEqual(await read(["key:a"], 0), whole);
  });

  test("includes the latest running requests of other servers while their leases last", async (t) => {
    const { limits, servers } = await (await makeStorage(t))();
    for (const id of ["one", "two", "three"])
      await servers.create(id, {
        until: moment(id === "three" ? 20 : 60),
        baseModels: [],
        artifacts: "shared",
      });
    const say = (serverId: string, count: number, subject: LimitSubject = "key:a") =>
      limits.exchange({ ...nothing, serverId, running: [{ subject, count }] });
    await say("one", 9);
    await say("two", 5);
    await say("two", 2);
    await say("three", 4);
    await say("three", 4, "key:b");
    const others = async (seconds: number) =>
      (
        await limits.exchange({ ...nothing, serverId: "one", subjects: ["key:a"], now: moment(seconds) })
      ).othersRunning.map(({ subject, count }) => [subject, count]);
    assert.deepEqual(await others(20), [["key:a", 6]]);
    assert.deepEqual(await others(21), [["key:a", 2]]);
    await servers.delete("two");
    assert.deepEqual(await others(21), []);
    // A server without a lease cannot report running requests, because nothing would expire its reports.
    await assert.rejects(say("two", 1));
  });

  test("shows each of two servers that count concurrently the other's earlier counts", async (t) => {
    const sides = await openTwice(makeStorage, t);
    const subjects = ["key:a", "key:b", "key:c"] as const;
    const slots = subjects.map((subject) => counts(subject, 7, 1, 10));
    const exchanges = Array.from({ length: 20 }, (_, index) =>
      sides[index % 2 === 0 ? 0 : 1].limits.exchange({
        ...nothing,
        slots: index % 3 === 0 ? slots : slots.toReversed(),
        subjects,
      }),
    );
    const seen = await Promise.all(exchanges);
    for (const subject of subjects) {
      const own = seen.map((all) => all.slots.find((one) => one.subject === subject)?.requests ?? 0);
      assert.deepEqual(
        own.toSorted((one, other) => one - other),
        Array.from({ length: 20 }, (_, index) => index + 1),
      );
    }
  });

  test("changes the named limits of an entity, and returns them with its keys", async (t) => {
    const { limits, keys } = await (await makeStorage(t))();
    const own = { requestsPerMinute: 3, queuedJobs: 1 };
    await keys.create(sampleKey("a", { entity: "acme", ...own }));
    const found = async () => (await keys.findByHash("hash of a"))?.entityLimits;
    assert.deepEqual([await limits.findEntityLimits("acme"), await found()], [noLimits, noLimits]);
    assert.deepEqual(await limits.changeEntityLimits("acme", {}), noLimits);
    const some = { requestsPerMinute: 60, tokensPerMinute: 1_000_000_000 };
    await limits.changeEntityLimits("acme", some);
    const all = { ...some, concurrentRequests: 4, queuePercent: 50, queuedJobs: 2 };
    const { requestsPerMinute: _, ...rest } = all;
    assert.deepEqual(await limits.changeEntityLimits("acme", rest), all);
    assert.deepEqual([await limits.findEntityLimits("acme"), await found()], [all, all]);
    assert.deepEqual(await limits.findEntityLimits("other"), noLimits);
    const fewer = await limits.changeEntityLimits("acme", { requestsPerMinute: null, queuedJobs: null });
    assert.deepEqual(fewer, { ...all, requestsPerMinute: null, queuedJobs: null });
    const key = sampleKey("a", { entity: "acme", ...own });
    assert.deepEqual(await keys.find("a"), key);
    assert.deepEqual(await keys.change("a", { queuedJobs: null, tokensPerMinute: 7 }), {
      ...key,
      queuedJobs: null,
      tokensPerMinute: 7,
    });
  });

  test("limits waiting jobs by key and by entity", async (t) => {
    const { jobs, models, keys, limits } = await (await makeStorage(t))();
    await storeModel(models, "m");
    await keys.create(sampleKey("a", { queuedJobs: 2 }));
    await keys.create(sampleKey("b"));
    const submit = (id: string, keyId: string | null) =>
      jobs.create(sampleJob(id, "m"), [], null, keyId === null ? {} : { keyId });
    for (const id of ["1", "2"]) await submit(id, "a");
    await assert.rejects(submit("3", "a"), {
      code: "overloaded",
      message: /2 training jobs of this key wait already, and it may have 2|full/,
    });
    for (const id of ["3", "4"]) await submit(id, "b");
    await limits.changeEntityLimits(sampleModel("m").entity, { queuedJobs: 5 });
    await submit("5", null);
    for (const key of ["b", null])
      await assert.rejects(submit("6", key), {
        code: "overloaded",
        message: /5 training jobs of this entity wait already, and it may have 5|full/,
      });
    await jobs.requestCancel("1", moment(1));
    await submit("6", "a");
    await assert.rejects(submit("7", "a"), { code: "overloaded" });
  });
}

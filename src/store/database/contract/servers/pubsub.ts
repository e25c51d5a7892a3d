// The contract for announcements that every database must pass: each committed change is announced once, and
// uncommitted changes are not.
import assert from "node:assert/strict";
import { test } from "node:test";
import { announcedKinds } from "../../../../base/domain/servers/pubsub.ts";
import type { Stores } from "../../stores.ts";
import {
  type MakeStorage,
  moment,
  openTwice,
  sampleCounts,
  sampleJob,
  sampleKey,
  sampleVersion,
  storeModel,
  storeServer,
} from "../storage-under-test.ts";

/** Listens to announcements of every kind, and returns them in order. */
export function listenTo({ announcements }: Stores): {
  readonly next: () => Promise<string>;
  readonly end: () => void;
} {
  const heard: string[] = [];
  let wake: () => void = () => undefined;
  const ends = announcedKinds.map((kind) =>
    announcements.listen(kind, (id) => {
      heard.push(`${kind} ${id}`);
      wake();
    }),
  );
  return {
    next: async () => {
      while (heard.length === 0) await new Promise<void>((resolve) => (wake = resolve));
      return heard.shift() ?? "";
    },
    end: () => ends.forEach((end) => end()),
  };
}

/**
 * Registers the contract's tests of announcements.
 *
 * @param reach who receives announcements: listeners on the same connection, or all listeners on the database.
 * Listeners on the database are first told that they may have missed earlier announcements.
 */
export function checkAnnouncements(makeStorage: MakeStorage, reach: "connection" | "database"): void {
  test("announces committed changes to all listeners, and nothing else", async (t) => {
    const [stores, other] = await openTwice(makeStorage, t);
    const listeners = (reach === "connection" ? [stores, stores] : [stores, other]).map(listenTo);
    if (reach === "database")
      for (const { next } of listeners)
        for (const kind of announcedKinds) assert.equal(await next(), `${kind} null`);
    const { keys, models, jobs, servers } = stores;
    await keys.create(sampleKey("k"));
    await keys.change("k", { expiresAt: moment(9) });
    await keys.revoke("k", moment(1));
    await keys.revoke("k", moment(1));
    await keys.change("k", { expiresAt: null });
    await storeServer(servers);
    for (const model of ["m", "n"]) await storeModel(models, model);
    const idempotency = { keyId: "k", key: "once", bodyHash: "body" };
    await jobs.create(sampleJob("m1", "m"), [], idempotency);
    await jobs.create(sampleJob("m1 again", "m"), [], idempotency);
    await jobs.create(sampleJob("m2", "m"), [], null);
    await jobs.claim("server", moment(2));
    await jobs.requestCancel("m2", moment(3));
    await jobs.requestCancel("m1", moment(3));
    const success = { owner: "server", counts: sampleCounts, at: moment(4), data: {} };
    const stranger = { ...success, owner: "stranger", version: sampleVersion("m", 1) };
    await assert.rejects(jobs.succeed("m1", stranger), { code: "conflict" });
    await jobs.succeed("m1", { ...success, version: sampleVersion("m", 1, { jobId: "m1" }) });
    const draft = { id: "v", modelId: "n", metrics: {}, base: null, adapterHash: null, createdAt: moment(5) };
    await models.addVersion(draft, async () => "adapters/n/1");
    for (const { next } of listeners)
      for (const announced of [
        "key-changed k",
        "key-changed k",
        "job-queued m1",
        "job-queued m2",
        "job-cancelled m1",
        "version-published m",
        "version-published n",
      ])
        assert.equal(await next(), announced);
    const [gone, staying] = listeners;
    gone.end();
    gone.end();
    await jobs.create(sampleJob("n1", "n"), [], null);
    assert.equal(await staying.next(), "job-queued n1");
    staying.end();
    const nothing = Promise.resolve("nothing");
    assert.equal(await Promise.race([gone.next(), nothing]), "nothing");
  });
}

// Tests two servers on one database. Neither server may automatically delete a version that the other server uses.
import assert from "node:assert/strict";
import { test, type TestContext } from "node:test";
import { checkService } from "../../../base/domain/testing/check-service.ts";
import { FakeClock } from "../../../base/domain/testing/fake-clock.ts";
import {
  sampleModel,
  sampleVersion,
  storeServer,
} from "../../../store/database/contract/storage-under-test.ts";
import { storesInMemory } from "../../../store/database/testing/stores-in-memory.ts";
import { VersionUses, type VersionUsesDependencies } from "./version-uses.ts";

/**
 * Creates a model with versions 1 to 3, a server that uses versions, and a server that deletes all but the newest
 * version.
 */
async function open(t: TestContext, changes: Partial<VersionUsesDependencies> = {}) {
  const { models, servers } = await storesInMemory();
  const clock = new FakeClock();
  for (const id of ["one", "two"]) await storeServer(servers, id);
  await models.create(sampleModel("m"), sampleVersion("m", 0));
  for (const step of [1, 2, 3]) {
    const { id, metrics, base, adapterHash, createdAt } = sampleVersion("m", step);
    const draft = { id, modelId: "m", metrics, base, adapterHash, createdAt };
    await models.addVersion(draft, async () => `adapters/m/${step}`);
  }
  const inUse: string[] = [];
  const uses = new VersionUses({
    store: models,
    server: () => "one",
    adaptersInUse: () => inUse,
    clock,
    onFault: (error) => assert.fail(String(error)),
    ...changes,
  });
  t.after(() => uses.stop());
  await uses.start();
  const deleteOlder = () =>
    models.deleteOlderVersions("m", { keptCount: 1, spared: new Set(), server: "two", now: new Date(0) });
  return { uses, servers, models, clock, inUse, deleteOlder };
}

checkService({
  name: "version uses",
  make: async (t) => {
    const clock = new FakeClock();
    const { models } = await storesInMemory();
    const service = new VersionUses({
      store: models,
      server: () => "one",
      adaptersInUse: () => [],
      clock,
      onFault: () => undefined,
    });
    t.after(() => service.stop());
    const upCount = async (): Promise<number> => {
      await clock.advance(0);
      return clock.sleepingCount;
    };
    return { service, upCount };
  },
  failing: null,
});

test("protects a requested version from another server until its requests have been over for a while", async (t) => {
  const { uses, clock, inUse, deleteOlder } = await open(t);
  assert.equal(await uses.use({ modelId: "m", step: 1 }), true);
  assert.deepEqual(await deleteOlder(), [2]);
  assert.equal(await uses.use({ modelId: "m", step: 2 }), false, "it was deleted");
  inUse.push("m:1");
  for (let minute = 0; minute < 5; minute++) await clock.advance(60_000);
  assert.deepEqual(await deleteOlder(), [], "a request runs on it");
  inUse.pop();
  await uses.use({ modelId: "m", step: 1 });
  await clock.advance(15_000);
  assert.deepEqual(await deleteOlder(), [], "one is about to");
  await clock.advance(60_000);
  assert.deepEqual(await deleteOlder(), [1]);
});

test("releases the versions of a server that is gone, and records uses anew under a new lease", async (t) => {
  let server = "one";
  const { uses, servers, deleteOlder } = await open(t, { server: () => server });
  await uses.use({ modelId: "m", step: 1 });
  await servers.delete("one");
  server = "again";
  await storeServer(servers, server);
  assert.equal(await uses.use({ modelId: "m", step: 1 }), true);
  assert.deepEqual(await deleteOlder(), [2]);
  await servers.delete("again");
  assert.deepEqual(await deleteOlder(), [1]);
});

test("serves requests even if the database cannot be written", async (t) => {
  const faults: unknown[] = [];
  const useVersion = () => Promise.reject(new Error("full"));
  const { uses } = await open(t, {
    store: { useVersion, endUse: async () => undefined },
    onFault: (error) => void faults.push(error),
  });
  assert.equal(await uses.use({ modelId: "m", step: 1 }), true);
  assert.equal(faults.length, 1);
});

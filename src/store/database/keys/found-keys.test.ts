// Tests that cached access keys are never stale, in every order of lookups and changes.
import assert from "node:assert/strict";
import { test, type TestContext } from "node:test";
import { moment, sampleKey } from "../contract/storage-under-test.ts";
import { openSqlite } from "../sqlite/sqlite-dialect.ts";
import { openStores, type Stores } from "../stores.ts";
import { withKeyCache } from "./key-store.ts";

async function setUp(t: TestContext) {
  const stores = await openStores(openSqlite({ file: ":memory:", isShared: true }));
  t.after(() => stores.close());
  await stores.keys.create(sampleKey("a", {}));
  let lookups = 0;
  const counted: Stores["keys"] = {
    ...stores.keys,
    findByHash: (hash) => {
      lookups += 1;
      return stores.keys.findByHash(hash);
    },
  };
  const kept = withKeyCache({ keys: counted, limits: stores.limits });
  const lookupsOf = async (work: () => Promise<unknown>): Promise<number> => {
    const before = lookups;
    await work();
    return lookups - before;
  };
  return { stores, ...kept, lookupsOf, find: () => kept.keys.findByHash("hash of a") };
}

test("caches a key that exists, and looks up a missing one each time", async (t) => {
  const { find, keys, lookupsOf } = await setUp(t);
  const first = await find();
  assert.equal(first?.id, "a");
  assert.equal(await lookupsOf(async () => assert.deepEqual(await find(), first)), 0);
  const findNone = () => keys.findByHash("hash of none");
  assert.equal(await lookupsOf(async () => [await findNone(), await findNone()]), 2);
});

test("shows every change of keys and limits to the next lookup", async (t) => {
  const { find, keys, limits } = await setUp(t);
  await find();
  await keys.change("a", { name: "other" });
  assert.equal((await find())?.name, "other");
  await limits.changeEntityLimits(sampleKey("a", {}).entity, { requestsPerMinute: 7 });
  assert.equal((await find())?.entityLimits.requestsPerMinute, 7);
  await keys.markUsed(["a"], moment(5));
  assert.deepEqual((await find())?.lastUsedAt, moment(5));
  await keys.rotate("a", "hash of another", moment(90));
  assert.equal((await find())?.secretHash, "hash of another");
  await keys.revoke("a", moment(20));
  assert.equal(await find(), null);
  await keys.create(sampleKey("b", {}));
  assert.equal((await keys.findByHash("hash of b"))?.id, "b");
});

test("repeats a lookup during which the key changed", async (t) => {
  const { find, keys } = await setUp(t);
  const before = find();
  const revoked = keys.revoke("a", moment(20));
  const within = find();
  await Promise.all([before, revoked, within]);
  assert.equal(await find(), null);
});

// The contract of every KeyStore.
import assert from "node:assert/strict";
import { test } from "node:test";
import { firstPage, type MakeStorage, moment, sampleKey } from "./storage-under-test.ts";

/** Registers the tests that a key store must pass. */
export function checkKeyStore(makeStorage: MakeStorage): void {
  test("a key is found by its hash, also after reopening", async (t) => {
    const open = await makeStorage(t);
    const first = await open();
    await first.keys.create(sampleKey("a", { role: "admin" }));
    await first.close();
    const { keys } = await open();
    assert.deepEqual(await keys.findByHash("hash of a"), sampleKey("a", { role: "admin" }));
    assert.equal(await keys.findByHash("hash of b"), null);
  });

  test("a revoked key is listed but no longer found, and is revoked once", async (t) => {
    const { keys } = await (await makeStorage(t))();
    await keys.create(sampleKey("a"));
    await keys.create(sampleKey("b"));
    assert.equal(await keys.revoke("a", moment(5)), true);
    assert.equal(await keys.revoke("a", moment(6)), false);
    assert.equal(await keys.revoke("nobody", moment(6)), false);
    assert.equal(await keys.findByHash("hash of a"), null);
    assert.deepEqual(await keys.findRevoked(["a", "b", "nobody"]), ["a"]);
    assert.deepEqual(await keys.findRevoked(["b"]), []);
    assert.deepEqual(await keys.findRevoked([]), []);
    const listed = await keys.list(firstPage);
    assert.deepEqual(listed, {
      items: [sampleKey("a", { revokedAt: moment(5) }), sampleKey("b")],
      hasMore: false,
    });
    const newest = await keys.list({ after: null, limit: 1, order: "desc" });
    assert.deepEqual([newest.items.map(({ id }) => id), newest.hasMore], [["b"], true]);
    assert.deepEqual((await keys.list({ ...firstPage, after: "b" })).items, []);
    await assert.rejects(keys.list({ ...firstPage, after: "x" }), { code: "invalid" });
  });

  test("a second key with the same secret is a conflict", async (t) => {
    const { keys } = await (await makeStorage(t))();
    await keys.create(sampleKey("a"));
    await assert.rejects(keys.create(sampleKey("b", { secretHash: "hash of a" })), { code: "conflict" });
    assert.equal((await keys.list(firstPage)).items.length, 1);
  });
}

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

  test("of many that are looked for at once each is found by itself, and a key that was just revoked is not", async (t) => {
    const { keys } = await (await makeStorage(t))();
    const ids = Array.from({ length: 20 }, (_, index) => `k${index}`);
    for (const id of ids) await keys.create(sampleKey(id));
    const looking = [...ids, "none", ...ids].map((id) => keys.findByHash(`hash of ${id}`));
    assert.equal(await keys.revoke("k3", moment(5)), true);
    const later = ids.map((id) => keys.findByHash(`hash of ${id}`));
    const known = [...ids, null, ...ids].map((id) => id ?? undefined);
    for (const [index, key] of (await Promise.all(looking)).entries())
      if (known[index] !== "k3") assert.equal(key?.id, known[index]);
    assert.deepEqual(
      (await Promise.all(later)).map((key) => key?.id),
      ids.map((id) => (id === "k3" ? undefined : id)),
    );
  });

  test("a second key with the same secret is a conflict", async (t) => {
    const { keys } = await (await makeStorage(t))();
    await keys.create(sampleKey("a"));
    await assert.rejects(keys.create(sampleKey("b", { secretHash: "hash of a" })), { code: "conflict" });
    assert.equal((await keys.list(firstPage)).items.length, 1);
  });
}

// The contract that every KeyStore must pass.
import assert from "node:assert/strict";
import { test } from "node:test";
import type { AccessKey } from "../../../../base/domain/access.ts";
import { noLimits } from "../../../../base/domain/keys/limits.ts";
import { firstPage, type MakeStorage, moment, sampleKey } from "../storage-under-test.ts";

/** Returns the key as a lookup returns it if the key's entity has no limits. */
const opening = (key: AccessKey) => ({ ...key, entityLimits: noLimits });

/** Registers the tests that a key store must pass. */
export function checkKeyStore(makeStorage: MakeStorage): void {
  test("finds a key by its hash, also after reopening", async (t) => {
    const open = await makeStorage(t);
    const first = await open();
    await first.keys.create(sampleKey("a", { role: "admin" }));
    await first.close();
    const { keys } = await open();
    assert.deepEqual(await keys.findByHash("hash of a"), opening(sampleKey("a", { role: "admin" })));
    assert.equal(await keys.findByHash("hash of b"), null);
  });

  test("lists a revoked key but no longer finds it, and revokes it once", async (t) => {
    const { keys } = await (await makeStorage(t))();
    await keys.create(sampleKey("a"));
    await keys.create(sampleKey("b"));
    assert.equal(await keys.revoke("a", moment(5)), true);
    assert.equal(await keys.revoke("a", moment(6)), false);
    assert.equal(await keys.revoke("nobody", moment(6)), false);
    assert.equal(await keys.findByHash("hash of a"), null);
    assert.deepEqual(await keys.findEnded(["a", "b", "nobody"], moment(5)), ["a"]);
    assert.deepEqual(await keys.findEnded(["b"], moment(5)), []);
    assert.deepEqual(await keys.findEnded([], moment(5)), []);
    assert.deepEqual(await keys.find("a"), sampleKey("a", { revokedAt: moment(5) }));
    assert.equal(await keys.find("nobody"), null);
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

  test("finds each of many keys looked up concurrently, but not one just revoked", async (t) => {
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

  test("refuses a second key with the same secret", async (t) => {
    const { keys } = await (await makeStorage(t))();
    await keys.create(sampleKey("a"));
    await assert.rejects(keys.create(sampleKey("b", { secretHash: "hash of a" })), { code: "conflict" });
    assert.equal((await keys.list(firstPage)).items.length, 1);
  });

  test("returns every field of a key unchanged, including an unusual name", async (t) => {
    const { keys } = await (await makeStorage(t))();
    const full = sampleKey("a", {
      name: "a \u0000 \ud83d\ude00 name",
      scopes: ["chat", "read"],
      project: "games",
      expiresAt: moment(60),
      lastUsedAt: moment(2),
      previous: { secretHash: "hash before", until: moment(30) },
    });
    await keys.create(full);
    assert.deepEqual(await keys.find("a"), full);
    assert.deepEqual(await keys.findByHash("hash of a"), opening(full));
  });

  test("changes only the named fields of a live key, and no other key", async (t) => {
    const { keys } = await (await makeStorage(t))();
    for (const id of ["a", "b"]) await keys.create(sampleKey(id, { name: "old", project: "p" }));
    const changed = sampleKey("a", { name: "new", project: "p", scopes: ["feedback"], expiresAt: moment(9) });
    const choices = { name: "new", scopes: ["feedback"], expiresAt: moment(9) } as const;
    assert.deepEqual(await keys.change("a", choices), changed);
    assert.deepEqual(await keys.change("a", {}), changed);
    assert.deepEqual(
      await keys.change("a", { name: null, scopes: null, expiresAt: null, project: null }),
      sampleKey("a"),
    );
    assert.deepEqual(await keys.find("b"), sampleKey("b", { name: "old", project: "p" }));
    await keys.revoke("b", moment(1));
    for (const id of ["b", "nobody"])
      for (const none of [choices, {}]) assert.equal(await keys.change(id, none), null);
    assert.equal((await keys.find("b"))?.name, "old");
  });

  test("finds an expired key, which counts as ended from then on", async (t) => {
    const { keys } = await (await makeStorage(t))();
    await keys.create(sampleKey("a", { expiresAt: moment(5) }));
    assert.deepEqual(await keys.findEnded(["a"], moment(4)), []);
    assert.deepEqual(await keys.findEnded(["a"], moment(5)), ["a"]);
    assert.equal((await keys.findByHash("hash of a"))?.id, "a");
  });

  test("finds a rotated key by its secret and the previous one, and by no earlier secret", async (t) => {
    const { keys } = await (await makeStorage(t))();
    await keys.create(sampleKey("a", { name: "kept" }));
    const rotated = sampleKey("a", {
      name: "kept",
      secretHash: "second",
      previous: { secretHash: "hash of a", until: moment(30) },
    });
    assert.deepEqual(await keys.rotate("a", "second", moment(30)), rotated);
    for (const hash of ["second", "hash of a"])
      assert.deepEqual(await keys.findByHash(hash), opening(rotated));
    await keys.rotate("a", "third", moment(60));
    const found = await Promise.all(["third", "second", "hash of a"].map((hash) => keys.findByHash(hash)));
    assert.deepEqual(
      found.map((key) => key?.previous ?? null),
      [{ secretHash: "second", until: moment(60) }, { secretHash: "second", until: moment(60) }, null],
    );
    await keys.revoke("a", moment(1));
    for (const hash of ["third", "second"]) assert.equal(await keys.findByHash(hash), null);
    assert.equal(await keys.rotate("a", "fourth", moment(60)), null);
    assert.equal(await keys.rotate("nobody", "fourth", moment(60)), null);
  });

  test("keeps the latest time at which a key was used", async (t) => {
    const { keys } = await (await makeStorage(t))();
    for (const id of ["a", "b", "c"]) await keys.create(sampleKey(id));
    await keys.markUsed(["a", "b", "nobody"], moment(5));
    await keys.markUsed(["b"], moment(7));
    await keys.markUsed(["b"], moment(6));
    await keys.markUsed([], moment(9));
    assert.deepEqual(
      (await keys.list(firstPage)).items.map(({ lastUsedAt }) => lastUsedAt),
      [moment(5), moment(7), null],
    );
  });

  test("lists the keys of one entity, after any key", async (t) => {
    const { keys } = await (await makeStorage(t))();
    for (const [id, entity] of [
      ["a", "x"],
      ["b", "y"],
      ["c", "x"],
      ["d", "x"],
    ] as const)
      await keys.create(sampleKey(id, { entity }));
    const idsOf = async (page: object): Promise<readonly string[]> =>
      (await keys.list({ ...firstPage, ...page }, { entity: "x" })).items.map(({ id }) => id);
    assert.deepEqual(await idsOf({}), ["a", "c", "d"]);
    assert.deepEqual(await idsOf({ after: "b" }), ["c", "d"]);
    assert.deepEqual(await idsOf({ order: "desc", limit: 2 }), ["d", "c"]);
  });
}

import assert from "node:assert/strict";
import { test } from "node:test";
import { seededRandom } from "../random.ts";
import { searchSeeds } from "../testing/search.ts";
import { keyless, TenantShares } from "./tenant-shares.ts";

/** Lets the tenant take as much as it can. Returns the amount that the tenant then holds. */
function fill(shares: TenantShares, tenant: string): number {
  while (shares.take(tenant, Math.max(1, shares.roomFor(tenant)))) continue;
  return shares.usedBy(tenant);
}

test("limits a tenant to half of the amount that others leave", () => {
  const shares = new TenantShares(1024);
  assert.deepEqual(
    [keyless, "a", "b"].map((tenant) => fill(shares, tenant)),
    [512, 256, 128],
  );
  shares.change("a", -256);
  assert.equal(shares.roomFor("b"), (1024 - 512) / 2 - 128);
  assert.equal(shares.used, 640);
});

test("keeps the guaranteed share of 64 tenants available while a thousand greedy ones take all they can", () => {
  const shares = new TenantShares(1 << 20);
  for (let index = 0; index < 1000; index++)
    shares.take(`greedy ${index}`, shares.roomFor(`greedy ${index}`) - 1024);
  const { guaranteed } = shares;
  assert.equal(guaranteed, 1024);
  for (let index = 0; index < 64; index++) assert.ok(shares.take(`late ${index}`, guaranteed), String(index));
});

test("lets each tenant take one of a small whole while any is left", () => {
  const one = new TenantShares(1);
  assert.ok(one.take("a", 1));
  assert.equal(one.roomFor("b"), 0);
  const three = new TenantShares(3);
  assert.deepEqual([fill(three, "a"), fill(three, "b")], [2, 1]);
});

test("never exceeds the whole, and frees all of it at the end, for any sequence of takes and returns", () => {
  for (const seed of searchSeeds(20)) {
    const random = seededRandom("tenant shares", seed);
    const max = 1 + random.index(5000);
    const shares = new TenantShares(max);
    for (let step = 0; step < 500; step++) {
      const tenant = `t${random.index(6)}`;
      const count = random.index(max);
      const others = shares.used - shares.usedBy(tenant);
      if (random.uniform() < 0.4) shares.change(tenant, -Math.min(count, shares.usedBy(tenant)));
      else if (shares.take(tenant, count) && count > 0)
        assert.ok(
          shares.usedBy(tenant) <= Math.max(Math.ceil((max - others) / 2), shares.guaranteed),
          String(seed),
        );
      assert.ok(shares.used <= max, String(seed));
    }
    for (let index = 0; index < 6; index++) shares.change(`t${index}`, -shares.usedBy(`t${index}`));
    assert.equal(shares.used, 0);
  }
});

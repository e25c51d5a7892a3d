// The durable core under simulated worlds: whatever dies, fails, tears, is late or goes away, what was promised holds. A
// world is its seed's alone, so that what is found once is found again: `npm run simulate -- --seed 7 --trace`.
import assert from "node:assert/strict";
import { test } from "node:test";
import { searchSeeds } from "../../src/domain/testing/search.ts";
import { simulate } from "./simulate.ts";

for (const seed of searchSeeds(12)) {
  test(`world ${seed}: what was acknowledged is there, once and whole`, async (t) => {
    const { violations, operations, faults } = await simulate(seed);
    const told = [...faults].map(([kind, count]) => `${kind} ${count}`).join(", ");
    t.diagnostic(`${operations.length} operations; ${told || "no fault"}`);
    assert.deepEqual(violations, []);
  });
}

test("a seed gives the same world each time, whatever ran before", async () => {
  const [seed] = searchSeeds(1);
  const first = await simulate(seed);
  await simulate(seed + 1);
  const again = await simulate(seed);
  assert.ok(first.eventCount > 1000, "much has happened");
  assert.deepEqual(
    [again.trace, again.eventCount, again.operations],
    [first.trace, first.eventCount, first.operations],
  );
  assert.notEqual((await simulate(seed + 1)).trace, first.trace);
});

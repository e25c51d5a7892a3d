// Tests in simulated worlds that the durable core keeps its promises despite deaths, failures, torn writes, delays and
// lost connections. A world depends only on its seed, so every finding can be repeated: `npm run simulate -- --seed 7
// --trace`.
import assert from "node:assert/strict";
import { test } from "node:test";
import { searchSeeds } from "../../src/base/domain/testing/search.ts";
import { simulate } from "./simulate.ts";

const seeds = searchSeeds(6);
/** Seed whose world is simulated twice, to compare both runs. `first` is the result of the first run. */
const [, , again] = seeds;
let first: Awaited<ReturnType<typeof simulate>> | null = null;

for (const seed of seeds) {
  test(`world ${seed}: acknowledged data exists exactly once and complete`, async (t) => {
    const world = await simulate(seed);
    if (seed === again) first = world;
    const { violations, operations, faults } = world;
    const told = [...faults].map(([kind, count]) => `${kind} ${count}`).join(", ");
    t.diagnostic(`${operations.length} operations; ${told || "no fault"}`);
    assert.deepEqual(violations, []);
  });
}

test("a seed gives the same world each time, regardless of earlier runs", async () => {
  assert.ok(first !== null, "the test above has run this seed");
  const other = await simulate(again);
  assert.ok(first.eventCount > 1000, "the world has many events");
  assert.deepEqual(
    [other.trace, other.eventCount, other.operations],
    [first.trace, first.eventCount, first.operations],
  );
  const traces = new Set([first.trace, (await simulate(again + 1)).trace]);
  assert.equal(traces.size, 2, "another seed gives another world");
});

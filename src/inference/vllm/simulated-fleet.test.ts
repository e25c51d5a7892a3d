// Eight servers that die, hang, fail and drain while requests run; `node dist/tools/bench/fleet.js` does the same with 10,000.
import assert from "node:assert/strict";
import { test } from "node:test";
import { simulateChoice } from "./testing/simulated-choice.ts";
import { simulateFleet } from "./testing/simulated-fleet.ts";

test("every request is answered once or refused with a reason while servers fall ill and get well", async () => {
  const requestCount = 200;
  const { answeredCount, refusedCounts, wrongCount } = await simulateFleet({
    requestCount,
    concurrency: 8,
    promptCount: 60,
    illnessCount: 4,
    firstTokenSeconds: 60,
    seed: 1,
  });
  const refused = Object.entries(refusedCounts);
  assert.equal(wrongCount, 0);
  assert.equal(answeredCount + refused.reduce((sum, [, count]) => sum + count, 0), requestCount);
  for (const [code] of refused) assert.match(code, /^(unavailable|timeout|overloaded)$/);
  // Only those that had begun where a server died are lost.
  assert.ok(answeredCount >= 0.8 * requestCount, JSON.stringify(refusedCounts));
});

test("shares of servers that are well are even, and prompts stay where they were, while others die", () => {
  const load = {
    replicaCount: 8,
    chooserCount: 1,
    requestCount: 10_000,
    concurrency: 64,
    promptCount: 2000,
    tokenCount: 4,
    seed: 1,
    deaths: { everyCount: 800, forMs: 1000, lookMs: 100 },
  };
  const { unevenness, affinity, lostCount, ...plain } = simulateChoice(load);
  assert.ok(unevenness <= 0.1, `${unevenness}`);
  assert.ok(affinity >= 0.9, `${affinity}`);
  // Those that run where one dies, and no others: an eighth of what runs at once, each time.
  assert.ok(lostCount > 0 && lostCount <= 12 * 16, `${lostCount}`);
  // What is dead for so long cannot have as much as the others, which would be a fault of the figure.
  assert.ok(plain.plainUnevenness > 0.15, `${plain.plainUnevenness}`);
});

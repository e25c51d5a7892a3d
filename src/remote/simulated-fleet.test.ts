// Eight servers that die, hang, fail and drain while requests run; `node dist/bench/fleet.js` does the same with 10,000.
import assert from "node:assert/strict";
import { test } from "node:test";
import { simulateFleet } from "./testing/simulated-fleet.ts";

test("every request is answered once or refused with a reason while servers fall ill and get well", async () => {
  const requestCount = 300;
  const { answeredCount, refusedCounts, wrongCount } = await simulateFleet({
    requestCount,
    concurrency: 8,
    promptCount: 100,
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

test("requests for few prompts stay at their servers", async () => {
  const load = {
    requestCount: 400,
    concurrency: 4,
    promptCount: 40,
    illnessCount: 0,
    firstTokenSeconds: 60,
    seed: 2,
  };
  const { affinity, reuse, answeredCount } = await simulateFleet(load);
  assert.equal(answeredCount, 400);
  assert.ok(affinity >= 0.85, `${affinity}`);
  assert.ok(reuse >= 0.95, `${reuse}`);
});

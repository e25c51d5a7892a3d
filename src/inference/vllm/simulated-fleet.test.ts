// Eight servers that die, hang, fail and drain while requests run; `node dist/tools/bench/fleet.js` does the same with
// 10,000.
import assert from "node:assert/strict";
import { test } from "node:test";
import { simulateChoice } from "./testing/simulated-choice.ts";
import { simulateFleet } from "./testing/simulated-fleet.ts";

test("answers each request once or refuses it with a reason while servers fail and recover", async () => {
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
  // Only answers that had begun on a dying server are lost.
  assert.ok(answeredCount >= 0.8 * requestCount, JSON.stringify(refusedCounts));
});

test("keeps shares even and prompts on their healthy servers while others die", () => {
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
  // Only requests running on a dying server are lost: an eighth of the concurrent ones, each time.
  assert.ok(lostCount > 0 && lostCount <= 12 * 16, `${lostCount}`);
  // A server that is dead for so long cannot have as many as the others; an even figure would be wrong.
  assert.ok(plain.plainUnevenness > 0.15, `${plain.plainUnevenness}`);
});

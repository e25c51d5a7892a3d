// Tests eight servers that die, hang, fail and drain while requests run. `node dist/tools/bench/fleet.js` does the same
// with 10,000 requests.
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
  // An answer is lost only if it had begun on a dying server.
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
  // At each death, only the requests that were running on the dying server are lost: an eighth of all concurrent
  // requests.
  assert.ok(lostCount > 0 && lostCount <= 12 * 16, `${lostCount}`);
  // A server that was dead for so long must have fewer requests than the others. An even distribution would be a
  // mistake.
  assert.ok(plain.plainUnevenness > 0.15, `${plain.plainUnevenness}`);
});

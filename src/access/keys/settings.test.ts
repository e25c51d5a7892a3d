import assert from "node:assert/strict";
import { test } from "node:test";
import { noLimits } from "../../base/domain/keys/limits.ts";
import { entityLimitsOf, keySettings } from "./settings.ts";

const read = (...entityLimits: readonly string[]) => entityLimitsOf(keySettings.with({ entityLimits }));

test("reads limits of entities by name, and leaves the others unlimited", () => {
  assert.deepEqual(read(), noLimits);
  assert.deepEqual(read("requests=600", "tokens=100000", "concurrent=8", "queue=50"), {
    requestsPerMinute: 600,
    tokensPerMinute: 100_000,
    concurrentRequests: 8,
    queuePercent: 50,
    queuedJobs: null,
  });
});

test("refuses an unknown or out-of-range limit by name, with the valid values", () => {
  for (const wrong of [
    "requests",
    "requests=0",
    "queue=101",
    "jobs=3",
    "toString=3",
    "tokens=1e3",
    "tokens=-1",
  ])
    assert.throws(() => read(wrong), {
      code: "invalid",
      message: new RegExp(`keys\\.entityLimits has "${wrong}"; it takes requests=1 to .*queue=1 to 100`),
    });
});

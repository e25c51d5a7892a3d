// A short run of random kills; bench/kill.ts does long ones.
import assert from "node:assert/strict";
import { test } from "node:test";
import { killAtRandom } from "./kills/kill-at-random.ts";
import { searchCount, searchSeed } from "../src/domain/testing/search.ts";

test(
  "whatever dies, and whatever the machine lacks meanwhile, nothing acknowledged is lost or doubled, no job fails, no file is left over, and every version is what it is undisturbed",
  { timeout: searchCount(300_000) },
  async () => {
    const { acknowledged, comparedCount, ...report } = await killAtRandom({
      seed: searchSeed,
      until: { count: searchCount(2) },
    });
    const { lost, doubled, failed, leftOver, different } = report;
    const faults = [lost, doubled, failed, leftOver, different].flat();
    assert.deepEqual(faults, []);
    assert.ok(comparedCount > 0);
    assert.ok(
      acknowledged.jobs > 0 && acknowledged.logs > 0 && acknowledged.feedback > 0 && acknowledged.chats > 0,
    );
  },
);

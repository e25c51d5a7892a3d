// A short run of random kills; bench/kill.ts does long ones.
import assert from "node:assert/strict";
import { test } from "node:test";
import { freshSeed } from "../src/domain/random.ts";
import { killAtRandom } from "./kills/kill-at-random.ts";

test("whatever dies, and whatever the machine lacks meanwhile, nothing acknowledged is lost or doubled, no job fails, and no file is left over", async (t) => {
  const seed = Number(process.env["TEST_SEED"] ?? freshSeed());
  t.diagnostic(`TEST_SEED=${seed}`);
  const { lost, doubled, failed, leftOver, acknowledged } = await killAtRandom({ seed, count: 10 });
  assert.deepEqual({ lost, doubled, failed, leftOver }, { lost: [], doubled: [], failed: [], leftOver: [] });
  assert.ok(acknowledged.jobs > 0 && acknowledged.logs > 0 && acknowledged.feedback > 0);
});

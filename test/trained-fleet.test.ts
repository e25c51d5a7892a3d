// Tests servers, replicas and trainers that fail while jobs create versions. `node dist/tools/bench/fleet.js --jobs 50`
// runs the same test for longer.
import assert from "node:assert/strict";
import { test } from "node:test";
import { createPostgres, withoutPostgres } from "../src/store/database/testing/postgres-databases.ts";
import { runTrainedFleet } from "./fleets/run-trained-fleet.ts";
import { inProof } from "../src/base/domain/testing/search.ts";

test(
  "every job makes one version that every replica serves, despite failing replicas",
  { skip: inProof.skip || withoutPostgres },
  async () => {
    const { url, drop } = await createPostgres();
    try {
      const { wrong, lost, unserved, versionCount, sentCount, answeredCount, refusedCounts } =
        await runTrainedFleet({
          databaseUrl: url,
          requestCount: 160,
          concurrency: 6,
          modelCount: 2,
          jobCount: 3,
          illnessCount: 4,
          trainerSoundCount: 30,
          seed: 1,
        });
      assert.deepEqual({ wrong, lost, unserved }, { wrong: [], lost: [], unserved: [] });
      assert.equal(versionCount, 3);
      const refused = Object.values(refusedCounts).reduce((sum, count) => sum + count, 0);
      assert.equal(answeredCount + refused, sentCount);
      for (const reason of Object.keys(refusedCounts)) assert.match(reason, /^(503|504|429) /);
    } finally {
      await drop();
    }
  },
);

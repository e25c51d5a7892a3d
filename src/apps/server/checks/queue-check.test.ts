import assert from "node:assert/strict";
import { test } from "node:test";
import { FakeClock } from "../../../base/domain/testing/fake-clock.ts";
import { createQueueCheck } from "./queue-check.ts";

test("reports why jobs wait and why none can be claimed, until the cause is resolved", async () => {
  const clock = new FakeClock();
  let claimFault: string | null = null;
  let waiting = [
    { waitingFor: "The disk is full.", count: 2 },
    { waitingFor: "No base.", count: 1 },
  ];
  const check = createQueueCheck({
    jobs: { countWaiting: async () => waiting },
    jobQueue: {
      status: () => ({ runningCount: 0, runningCountMax: 1, watcherCount: 0, claimFault }),
    },
    clock,
  });
  const message = "2 training jobs wait: The disk is full. 1 training job waits: No base.";
  await assert.rejects(check(), { code: "unavailable", message });
  [waiting, claimFault] = [[], "The database is locked."];
  await assert.rejects(check(), { message }, "the result is cached");
  await clock.advance(1000);
  await assert.rejects(check(), { message: "No training job can be claimed: The database is locked." });
  claimFault = null;
  await clock.advance(1000);
  await check();
});
